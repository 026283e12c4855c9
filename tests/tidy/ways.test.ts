/** Holds "The ways" of ARCHITECTURE.md to the sources: steps that know each other, in order, few enough to read. What runs is held by tests/ways. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ImportGraph } from './import-graph.ts';
import { root, sourceFiles } from './source-files.ts';
import { pathsIn, readWays, type Step, type Way } from './written-ways.ts';

const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
const { ways, beside, atAnyTime } = readWays(text);
const files = sourceFiles().filter(({ isTest }) => !isTest);
const graph = new ImportGraph(files);

const sectionOf = (title: string): string => new RegExp(`\\n## ${title}\\n([\\s\\S]*?)\\n## `).exec(text)?.[1] ?? '';
/** The files that "The seams" and "Folders of the router" name as what two sides know of each other. */
const seams = new Set(
  [...pathsIn(sectionOf('The seams')), ...(sectionOf('Folders of the router').match(/[\w-]+\.ts/g) ?? [])].map((path) =>
    path.split('/').at(-1),
  ),
);

const areJoined = (one: string, other: string): boolean => graph.imports(one, other) || graph.imports(other, one);

/** What is wrong with how a step says it is reached; undefined: nothing. */
function problemOf({ steps }: Way, { number, file, caller, by, isSeam }: Step): string | undefined {
  if (!graph.has(file)) return 'there is no such source';
  const before = steps.find((step) => step.number === caller);
  if (before === undefined || before.number >= number) return number === 1 ? undefined : 'it names no earlier step';
  if (by === '') return undefined;
  if (by === undefined)
    return areJoined(before.file, file) ? undefined : `${before.file} does not know it, nor it that file`;
  if (isSeam && !seams.has(by)) return `${by} is no seam`;
  const isKnown = files.some(
    ({ path }) => path.endsWith(`/${by}`) && isWithinTwo(before.file, path) && knows(file, path),
  );
  return isKnown ? undefined : `no ${by} is known to it and, by at most two imports, to ${before.file}`;
}

const knows = (one: string, other: string): boolean => one === other || areJoined(one, other);
const isWithinTwo = (one: string, other: string): boolean =>
  knows(one, other) || files.some(({ path }) => areJoined(one, path) && areJoined(path, other));

test('there is a way for each of the five events', () => {
  expect(ways.map(({ title }) => title).sort()).toEqual([
    'A REST request in JSON',
    'A gRPC stream',
    'A hot reload',
    'A unary gRPC request',
    'A worker starts and loads a model',
    'Behind every edge',
    'The death of a worker',
  ]);
});

describe.each(ways)('$title', (way) => {
  test('its steps are numbered, each names a file once', () => {
    expect(way.steps.map(({ number }) => number)).toEqual(way.steps.map((_, index) => index + 1));
    expect(new Set(way.steps.map(({ file }) => file)).size).toBe(way.steps.length);
    expect(way.steps.length).toBeGreaterThan(0);
  });

  test('each step but the first is known to an earlier one', () => {
    const problems = way.steps.flatMap((step) => {
      const problem = problemOf(way, step);
      return problem === undefined ? [] : [`${step.number}. ${step.file}: ${problem}`];
    });
    expect(problems).toEqual([]);
  });

  test('the steps of other ways that it takes exist', () => {
    for (const { numbers, way: title } of way.stretches) {
      const known = ways.find((one) => one.title === title)?.steps.map(({ number }) => number) ?? [];
      expect(known).toEqual(expect.arrayContaining([...numbers]));
    }
  });
});

const lengthOf = (title: string): number => ways.find((way) => way.title === title)?.steps.length ?? 0;
const streamed = (): number => {
  const stretches = ways.find(({ title }) => title === 'A gRPC stream')?.stretches ?? [];
  const shared = stretches.filter(({ way }) => way === 'A unary gRPC request');
  return lengthOf('A gRPC stream') + shared.reduce((sum, { numbers }) => sum + numbers.length, 0);
};

/** Who has to read more files than this to follow a way is lost: join files that are one idea. */
test.each([
  ['a REST request with all behind its edge', lengthOf('A REST request in JSON') + lengthOf('Behind every edge'), 55],
  ['the edge of a unary gRPC request', lengthOf('A unary gRPC request'), 24],
  ['the edge of a gRPC stream', streamed(), 30],
  ['a hot reload', lengthOf('A hot reload'), 35],
  ['the death of a worker', lengthOf('The death of a worker'), 12],
])('%s takes few files', (_, length, lengthMax) => {
  expect(length).toBeGreaterThan(0);
  expect(length).toBeLessThanOrEqual(lengthMax);
});

const steps = new Set(ways.flatMap((way) => way.steps.map(({ file }) => file)));
const isIn = (places: readonly string[], path: string): boolean =>
  places.some((one) => (one.endsWith('/') ? path.startsWith(one) : path === one));

/** They make the object that is the step, export it, or take a name or a check from its file; who hands on to it is another step. */
const acquainted = new Set([
  'packages/core/src/scheduler/models/model-entry.ts',
  'packages/http/src/rpc/content-types.ts',
  'packages/http/src/wire/connection-host.ts',
  'packages/onnx/src/index.ts',
  'packages/router/src/life-cycle/model-library.ts',
  'packages/router/src/repository/check-head.ts',
  'packages/router/src/repository/kinds/generator/generator-kind.ts',
  'packages/router/src/repository/kinds/pipeline/pipeline-kind.ts',
  'packages/router/src/repository/model-parameters.ts',
  'packages/worker/src/warm-up/warm-up-memory.ts',
]);

test('no file beside the ways hands on to a step', () => {
  const calls = files
    .filter(({ path }) => isIn(beside, path) && !isIn(atAnyTime, path) && !steps.has(path) && !acquainted.has(path))
    .flatMap(({ path }) => graph.loads(path).flatMap((target) => (steps.has(target) ? `${path} → ${target}` : [])));
  expect(calls).toEqual([]);
});
