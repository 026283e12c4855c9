/** Holds the names in README.md, SECURITY.md, docs/operating/store.md and docs/mechanisms to what they name: settings, metrics, errors, model parameters, log lines. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCatalogue } from '@millrace/protocol';
import { modelParameters, parameterFamilies, reportedParameters } from '@millrace/router/internal';
import { configFields } from 'millrace';
import { describe, expect, test } from 'vitest';
import { root, sourceFiles } from './source-files.ts';

const folder = join(root, 'docs/mechanisms');
const pages = readdirSync(folder).filter((file) => file.endsWith('.md'));
const sources = sourceFiles().filter(({ isTest }) => !isTest);

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const metrics = namesIn(read('docs/reference/metrics.md'));
const config = namesIn(read('docs/reference/config.md'));
const helpTexts = join(root, 'packages/millrace/src/cli/help-texts');
const flags = new Set(readdirSync(helpTexts).flatMap((file) => flagsIn(readFileSync(join(helpTexts, file), 'utf8'))));
const modelFields = read('proto/inference/model_config.proto');

interface Kind {
  readonly what: string;
  readonly form: RegExp;
  readonly exists: (name: string) => boolean;
}

/** The first whose form fits is the kind of a name. */
const kinds: readonly Kind[] = [
  { form: /^triton_[a-z_]+$/, what: 'a parameter of requests or responses', exists: isInSources },
  { what: 'a model parameter', form: /^millrace\.(?!v\d)/, exists: isModelParameter },
  {
    what: 'a setting',
    form: new RegExp(`^(${[...new Set(configFields.map(({ group }) => group))].join('|')})\\.`),
    exists: (name) => config.has(name.replace(/: .*/, '')),
  },
  { what: 'a flag', form: /^--\w/, exists: (name) => flags.has(name.replace(/[ =].*/, '')) },
  { what: 'a variable', form: /^MILLRACE_/, exists: (name) => config.has(name) },
  {
    what: 'a parameter of a request',
    form: /^(sequence_(id|start|end)|millrace_timeout_ms)$/,
    exists: (name) => isInSources(`'${name}'`),
  },
  { what: 'a metric', form: /^(millrace|nv_inference|nv_cache|process|nodejs)_/, exists: (name) => metrics.has(name) },
  {
    what: 'a header',
    form: /^(millrace-|retry-after$|grpc-timeout$|connect-timeout-ms$)/,
    exists: (name) => isInSources(`'${name}'`),
  },
  {
    what: 'an error',
    form: /^[a-z]+(-[a-z]+)+$|^(cancelled|draining)$/,
    exists: (name) => Object.hasOwn(errorCatalogue, name),
  },
  { what: 'a log line', form: /^"/, exists: (name) => isInSources(`'${name.slice(1, -1)}'`) },
  { what: 'a field of a model', form: /^[a-z]+(_[a-z]+)+$/, exists: (name) => modelFields.includes(` ${name} = `) },
];

function isModelParameter(name: string): boolean {
  const isNamed = Object.hasOwn(modelParameters, name) || Object.hasOwn(reportedParameters, name);
  return isNamed || parameterFamilies.some(({ prefix }) => name.startsWith(prefix));
}

function namesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name as string));
}

/** Of a help text, where a switch stands as --[no-]name. */
function flagsIn(text: string): string[] {
  return [...text.matchAll(/--(\[no-\])?([a-z][a-z-]*)/g)].flatMap(([, no, name]) =>
    no === undefined ? [`--${name}`] : [`--${name}`, `--no-${name}`],
  );
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
    'deadlines.md',
    'ensembles.md',
    'eviction.md',
    'instances.md',
    'life-cycle.md',
    'memory.md',
    'pipelines.md',
    'polling.md',
    'retry.md',
    'sequences.md',
    'shutdown.md',
    'streams.md',
    'traffic.md',
  ]);
});

const operatingPages = readdirSync(join(root, 'docs/operating')).map((page) => `docs/operating/${page}`);
const otherPages = ['README.md', 'SECURITY.md', 'docs/operating/store.md', 'docs/reference/model-parameters.md'];

test.each([...pages.map((page) => `docs/mechanisms/${page}`), ...otherPages])(
  '%s names only settings, metrics, errors and log lines that exist',
  (page) => {
    // What curl is given is not ours.
    const text = read(page).replaceAll(/^curl .*$/gm, '');
    // In commands and in code, too, nothing is named that does not exist.
    const loose = text.matchAll(
      /(?<![\w/.-])(millrace_[a-z_]+|millrace\.(?!v\d)[a-z_]+(?:\.\w+)?|--[a-z]+(?:-[a-z]+)*)/g,
    );
    const written = new Set([...namesIn(text), ...[...loose].map(([, name]) => name as string)]);
    const unknown = [...written].flatMap((name) => {
      const kind = kinds.find(({ form }) => form.test(name));
      return kind === undefined || kind.exists(name) ? [] : [`${name} is not ${kind.what}`];
    });
    expect(unknown).toEqual([]);
  },
);

test.each([
  ...readdirSync(root).filter((file) => file.endsWith('.md')),
  ...['docs/README.md', 'docs/adr/README.md', 'docs/models.md', 'docs/migrating-from-triton.md'],
  ...operatingPages,
  ...pages.map((page) => `docs/mechanisms/${page}`),
])('%s links only to files that exist', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link]) => link as string);
  expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
});

test('docs/README.md leads to every mechanism and every reference, docs/adr/README.md to every decision', () => {
  const index = read('docs/README.md');
  const listed = (folder: string) =>
    readdirSync(join(root, folder)).filter((file) => /\.md$/.test(file) && file !== 'README.md');
  for (const page of pages) expect(index).toContain(`(mechanisms/${page})`);
  for (const page of listed('docs/reference')) expect(index).toContain(`(reference/${page})`);
  for (const page of listed('docs/adr')) expect(read('docs/adr/README.md')).toContain(`(${page})`);
});

describe.each(pages)('%s', (page) => {
  const text = read(`docs/mechanisms/${page}`);

  test('says what happens, what shows it, what changes it and what is guaranteed, in this order', () => {
    const positions = ['What happens.', 'What shows it.', 'What changes it.', 'What is guaranteed.'].map((part) =>
      text.indexOf(`**${part}**`),
    );
    expect(positions).not.toContain(-1);
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
  });

  test('names a metric and a setting, so that an operator can see it and change it', () => {
    const names = [...namesIn(text)];
    expect(names.some((name) => metrics.has(name))).toBe(true);
    expect(names.some((name) => config.has(name) && name.includes('.'))).toBe(true);
  });
});
