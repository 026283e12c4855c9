/** A setting that is parsed and then ignored: every field is read by the server, outside of the code that parses it. */
import { configFields } from 'millrace';
import { expect, test } from 'vitest';
import { sourceFiles } from './source-files.ts';

const readers = sourceFiles().filter(
  ({ package: name, path, isTest }) =>
    name === 'millrace' && !isTest && !path.startsWith('packages/millrace/src/config/'),
);

/** `{ a, b: c } = x.group` or `= group`, and a parameter `{ a, b }: Config['group']`: the group, and what is taken of it. */
const destructuring = /\{([^{}]*)\}\s*(?:=\s*(?:[\w.]+\.)?(\w+)\s*;|:\s*(?:Pick<)?Config\['(\w+)'\])/g;

function destructuredIn(text: string): readonly string[] {
  return [...text.matchAll(destructuring)].flatMap(([, names = '', value, type]) =>
    names.split(',').map((name) => `${value ?? type}.${name.split(':')[0]?.trim()}`),
  );
}

/** `group.name`, wherever the group comes from; overlapping, for `config.group.name`. */
const member = /\b(\w+)(?=\??\.(\w+))/g;

const read = new Set(
  readers.flatMap(({ text }) => [
    ...[...text.matchAll(member)].map(([, group, name]) => `${group}.${name}`),
    ...destructuredIn(text),
  ]),
);

test('every configuration field is read outside of packages/millrace/src/config', () => {
  expect(configFields.filter(({ path }) => !read.has(path)).map(({ path }) => path)).toEqual([]);
});
