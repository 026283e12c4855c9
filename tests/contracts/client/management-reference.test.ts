/** `@millrace/client/management` against docs/reference/management.md, which a test keeps equal to the routes of the server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createManagement } from '@millrace/client/management';
import { describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../support/repository-root.ts';

const reference = readFileSync(join(repositoryRoot, 'docs/reference/management.md'), 'utf8');
const declarations = readFileSync(join(repositoryRoot, 'packages/client/src/management/management-answers.ts'), 'utf8');

test('every call of the reference is a method, and every method is one of these calls', async () => {
  const listed = [...reference.matchAll(/^\| `(\w+) …(\/[^`]+)` \|/gm)].map(([, method, path]) => `${method} ${path}`);
  expect(listed.length).toBeGreaterThan(15);
  const made: string[] = [];
  const management = createManagement('http://127.0.0.1:1/', {
    fetch: async (url, init) => {
      made.push(`${init?.method} ${String(url).replace('http://127.0.0.1:1/v1/management', '')}`);
      return Response.json({});
    },
  });
  await management.contexts();
  await management.models();
  await management.load('{model}');
  await management.unload('{model}');
  await management.pin('{model}', '{version}');
  await management.unpin('{model}', '{version}');
  await management.traffic('{model}');
  await management.changeTraffic('{model}', {});
  await management.setLabel('{model}', '{label}', '1');
  await management.removeLabel('{model}', '{label}');
  await management.setSplit('{model}', []);
  await management.setShadows('{model}', []);
  await management.instances();
  await management.closeBreaker('{worker}' as unknown as number);
  await management.queues();
  await management.streams();
  await management.stream('{stream}');
  await management.cancelStream('{stream}');
  await management.flushCache();
  await management.flushCache('{model}');
  const called = made.map((call) => decodeURIComponent(call));
  expect(new Set(called)).toEqual(new Set(listed));
  expect(called).toHaveLength(listed.length);
  // Each method above once, `flushCache` twice.
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(management)).filter(
    (name) => name !== 'constructor',
  );
  expect(methods).toHaveLength(listed.length - 1);
});

/** Headings of the reference, the field that is a list where the type is of its elements, and our types. */
const types: readonly (readonly [heading: string, within: string, type: string])[] = [
  ['Contexts', 'contexts[].', 'ManagedContext'],
  ['Index', 'models[].', 'ManagedModel'],
  ['Traffic', '', 'ModelTraffic'],
  ['TrafficChange', '', 'ModelTrafficChange'],
  ['WeightedVersion', '', 'VersionWeight'],
  ['ShadowedVersion', '', 'VersionShadow'],
  ['Instances', 'instances[].', 'ManagedInstance'],
  ['Queues', '', 'ManagedQueues'],
  ['Queues', 'models[].', 'ManagedQueue'],
  ['Streams', '', 'ManagedStreams'],
  ['Stream', '', 'ManagedStream'],
];

/** The types of the reference in words of TypeScript. */
function typeFrom(written: string): string {
  if (written === 'integer') return 'number';
  if (written === 'list') return 'list';
  if (written.startsWith('list of ')) return written === 'list of string' ? 'readonly string[]' : 'list';
  if (written.startsWith('`')) return written.replaceAll('`', "'").replaceAll(', ', ' | ');
  if (written === 'object of string') return 'Readonly<Record<string, string>>';
  if (written === 'object of string or null') return 'Readonly<Record<string, string | null>>';
  return written;
}

describe('types', () => {
  test.each(types)('%s %s is %s', (heading, within, type) => {
    const [, section = ''] = new RegExp(`^### ${heading}\n(.*?)^##`, 'ms').exec(reference) ?? [];
    const told = [...section.matchAll(/^\| `([^`]+)` \| (.*?) \| (.*?) \|/gm)]
      .map(([, name = '', written = '', presence = '']) => ({ name, written, isOptional: presence !== '' }))
      .filter(({ name }) => name.startsWith(within) && !name.slice(within.length).includes('[]'))
      .map(({ name, written, isOptional }) => {
        return `${name.slice(within.length)}${isOptional ? '?' : ''}: ${typeFrom(written)}`;
      });
    const [, body = ''] = new RegExp(`^export interface ${type} \\{\n(.*?)^\\}`, 'ms').exec(declarations) ?? [];
    const declared = [...body.matchAll(/^ {2}readonly (\w+\??): (.*?)(?: = .*)?;?$/gm)].map(
      ([, name, written = '']) => {
        const isList = /^readonly (?!string)\w+\[\]$/.test(written);
        return `${name}: ${isList ? 'list' : written === '{' ? 'object' : written}`;
      },
    );
    expect(told.length).toBeGreaterThan(1);
    expect(declared).toEqual(told.filter((line) => !within.startsWith(line.replace(/: list$/, '[]'))));
  });
});
