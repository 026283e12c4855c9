/** Holds the names in docs/mechanisms to what they name: settings, metrics, errors, model parameters, log lines. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCatalogue } from '@millrace/protocol';
import { isGroupParameter, modelParameters, parameterFamilies } from '@millrace/router';
import { configFields } from 'millrace';
import { describe, expect, test } from 'vitest';
import { root, sourceFiles } from './source-files.ts';

const folder = join(root, 'docs/mechanisms');
const pages = readdirSync(folder).filter((file) => file.endsWith('.md'));
const sources = sourceFiles().filter(({ isTest }) => !isTest);

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const metrics = namesIn(read('docs/reference/metrics.md'));
const config = namesIn(read('docs/reference/config.md'));
const modelFields = read('packages/router/src/registry/config-text/model-config-schema.ts');

interface Kind {
  readonly what: string;
  readonly form: RegExp;
  readonly exists: (name: string) => boolean;
}

/** The first whose form fits is the kind of a name. */
const kinds: readonly Kind[] = [
  { what: 'a model parameter', form: /^millrace\./, exists: isModelParameter },
  {
    what: 'a setting',
    form: new RegExp(`^(${[...new Set(configFields.map(({ group }) => group))].join('|')})\\.`),
    exists: (name) => config.has(name),
  },
  { what: 'a flag or variable', form: /^(--\w|MILLRACE_)/, exists: (name) => config.has(name) },
  { what: 'a metric', form: /^(millrace|nv_inference|nv_cache|process|nodejs)_/, exists: (name) => metrics.has(name) },
  { what: 'a header', form: /^(millrace-|retry-after$)/, exists: (name) => isInSources(`'${name}'`) },
  {
    what: 'an error',
    form: /^[a-z]+(-[a-z]+)+$|^(cancelled|draining)$/,
    exists: (name) => Object.hasOwn(errorCatalogue, name),
  },
  { what: 'a log line', form: /^"/, exists: (name) => isInSources(`'${name.slice(1, -1)}'`) },
  { what: 'a parameter of a request', form: /^sequence_(id|start|end)$/, exists: (name) => isInSources(`'${name}'`) },
  { what: 'a field of a model', form: /^[a-z]+(_[a-z]+)+$/, exists: (name) => modelFields.includes(`${name}:`) },
];

function isModelParameter(name: string): boolean {
  if (isGroupParameter(name)) return true;
  return Object.hasOwn(modelParameters, name) || parameterFamilies.some(({ prefix }) => name.startsWith(prefix));
}

function namesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name as string));
}

function isInSources(text: string): boolean {
  return sources.some((file) => file.text.includes(text));
}

test('there is a page for each mechanism', () => {
  expect(pages.sort()).toEqual([
    'admission.md',
    'batching.md',
    'breakers.md',
    'cache.md',
    'contexts.md',
    'deadlines.md',
    'ensembles.md',
    'eviction.md',
    'instances.md',
    'life-cycle.md',
    'pipelines.md',
    'retry.md',
    'sequences.md',
    'shutdown.md',
  ]);
});

describe.each(pages)('%s', (page) => {
  const names = [...namesIn(readFileSync(join(folder, page), 'utf8'))];

  test('names only settings, metrics, errors and log lines that exist', () => {
    const unknown = names.flatMap((name) => {
      const kind = kinds.find(({ form }) => form.test(name));
      return kind === undefined || kind.exists(name) ? [] : [`${name} is not ${kind.what}`];
    });
    expect(unknown).toEqual([]);
  });

  test('names a metric and a setting, so that an operator can see it and change it', () => {
    expect(names.some((name) => metrics.has(name))).toBe(true);
    expect(names.some((name) => config.has(name) && name.includes('.'))).toBe(true);
  });
});
