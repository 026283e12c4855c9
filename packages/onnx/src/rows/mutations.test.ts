/** Each mutation removes one rule from the analysis. The trap corpus must detect that: an untested rule protects nobody. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

interface Mutation {
  readonly trap: number;
  readonly rule: string;
  readonly file: string;
  /** Text that occurs in the compiled file exactly once. */
  readonly original: string;
  readonly mutated: string;
}

const mutation = (trap: number, rule: string, file: string, original: string, mutated: string): Mutation => ({
  trap,
  rule,
  file,
  original,
  mutated,
});

const never = 'if (false)';

const mutations: readonly Mutation[] = [
  mutation(
    1,
    'softmax over the batch axis',
    'operators/reduction.js',
    "throw mixed('it normalises over the batch axis');\n    return isRows(value) ? value : plain(dims);\n};\nfunction softmaxAxis",
    ';\n    return isRows(value) ? value : plain(dims);\n};\nfunction softmaxAxis',
  ),
  mutation(
    1,
    'no axes are all axes',
    'operators/reduction.js',
    'written === undefined || written.length === 0',
    'false',
  ),
  mutation(
    1,
    'squeeze without axes',
    'operators/movement.js',
    "if (value.kind === 'rows')\n        throw mixed('it removes every axis",
    "if (value.kind === 'rows') return [];\n    if (false)\n        throw mixed('it removes every axis",
  ),
  mutation(
    1,
    'inputs of one shape until opset 7',
    'operators/elementwise.js',
    'if (call.opset < 8 && values.some(isRows) && !values.every(isRows))',
    never,
  ),
  mutation(
    2,
    'ranges over the rows',
    'operators/generators.js',
    "if ([start, limit, step].some(({ kind }) => kind === 'counted'))",
    "if ([start, limit, step].some(({ kind }) => kind === 'counted')) return filled([limit.contents[0]]);\n    if (false)",
  ),
  mutation(
    3,
    'rows that do not stay together',
    'reshape.js',
    '.equals(before))\n        return rows(shape, axis);\n    throw unknown',
    '.equals(before) || true)\n        return rows(shape, axis);\n    throw unknown',
  ),
  mutation(
    4,
    'einsum over the batch axis',
    'operators/einsum.js',
    "if (axis === -1)\n        throw mixed('it sums over the batch axis');",
    'if (axis === -1)\n        return rows([...shape, sizes.get(batch)], shape.length);',
  ),
  mutation(
    5,
    'results that depend on all data',
    'operators/reduction.js',
    'if (call.given.some(isRows))\n            throw mixed(reason);',
    'if (call.given.some(isRows)) return call.node.outputs.map(() => call.given.find(isRows));',
  ),
  mutation(
    5,
    'indices of a pool',
    'operators/convolution.js',
    'return [rows(shape, value.axis), indices];',
    'return [rows(shape, value.axis), rows(shape, value.axis)];',
  ),
  mutation(
    5,
    'triangles over the batch axis',
    'operators/indexing.js',
    "if (isRows(value) && value.axis >= dims.length - 2)\n        throw mixed('the position",
    "if (false)\n        throw mixed('the position",
  ),
  mutation(
    5,
    'ones on a diagonal',
    'operators/generators.js',
    "if (isRows(value))\n        throw mixed('the position of a row",
    "if (isRows(value)) return value;\n    if (false)\n        throw mixed('the position of a row",
  ),
  mutation(
    5,
    'indices that name rows',
    'operators/indexing.js',
    'if (!isRows(data) || !isRows(indices) || data.axis >= shared)',
    'if (isRows(data) && !isRows(indices)) return rows(shape, 0);\n    if (false)',
  ),
  mutation(
    5,
    'rows placed by indices',
    'operators/indexing.js',
    "throw isRows(indices) || isRows(data) ? mixed('the indices name rows')",
    "if (isRows(data)) return data;\n    throw isRows(indices) || isRows(data) ? mixed('the indices name rows')",
  ),
  mutation(
    6,
    'slices of rows',
    'operators/parts.js',
    'if (isRows(value) && value.axis === cut.axis) {',
    'if (isRows(value) && value.axis === cut.axis) continue;\n        if (false) {',
  ),
  mutation(
    6,
    'rows picked by position',
    'operators/indexing.js',
    "if (data.axis === axis)\n            throw mixed('it picks rows by their position');\n        return rows(shape, data.axis > axis",
    'if (data.axis === axis)\n            return data;\n        return rows(shape, data.axis > axis',
  ),
  mutation(
    6,
    'joining rows',
    'operators/movement.js',
    "if (batch.axis === axis)\n            throw mixed('it joins tensors along the batch axis');",
    'if (batch.axis === axis)\n            return batch;',
  ),
  mutation(
    6,
    'padding rows',
    'operators/parts.js',
    "if (isRows(value) && value.axis === axis)\n            throw mixed('it pads the batch axis');",
    'if (isRows(value) && value.axis === axis)\n            continue;',
  ),
  mutation(
    6,
    'splitting rows',
    'operators/parts.js',
    "if (isRows(value) && value.axis === axis)\n        throw mixed('it splits the rows');",
    'if (isRows(value) && value.axis === axis)\n        return call.node.outputs.map(() => value);',
  ),
  mutation(
    6,
    'ordering rows',
    'operators/reduction.js',
    "if (isRows(value) && value.axis === axis)\n        throw mixed('it orders the rows');",
    'if (isRows(value) && value.axis === axis)\n        return [value, value];',
  ),
  mutation(
    6,
    'adding rows up',
    'operators/reduction.js',
    "if (isRows(value) && value.axis === axisFrom(axis, dims.length))\n        throw mixed('it adds the rows up');",
    '',
  ),
  mutation(
    6,
    'reversing rows',
    'operators/reduction.js',
    "if (value.axis === time)\n        throw mixed('it reverses the order of the rows');",
    '',
  ),
  mutation(
    6,
    'taking some rows',
    'operators/reduction.js',
    "if (isRows(value) && value.axis === axis)\n        throw mixed('it takes a part of the rows');\n    const shape = withItem(dims, axis, call.symbols.size());",
    'if (isRows(value) && value.axis === axis)\n        return value;\n    const shape = withItem(dims, axis, call.symbols.size());',
  ),
  mutation(
    6,
    'loops that stack a new first axis',
    'operators/control-flow.js',
    'rows(shape, value.axis >= at ? value.axis + 1 : value.axis)',
    'rows(value.dims, value.axis)',
  ),
  mutation(
    7,
    'dynamic quantisation',
    'operators/quantisation.js',
    "if (isRows(value))\n        throw mixed('its scale is computed from all rows together');",
    'if (isRows(value))\n        return [value, plain([]), plain([])];',
  ),
  mutation(
    7,
    'normalisation over rows',
    'operators/reduction.js',
    'if (isRows(value) && axes.includes(value.axis))',
    never,
  ),
  mutation(
    7,
    'working along rows',
    'operators/reduction.js',
    "if (isRows(value) && value.axis === axis)\n            throw mixed('it works along the batch axis');",
    '',
  ),
  mutation(
    8,
    'conditions that rows decide',
    'operators/control-flow.js',
    "if (value === undefined || value.kind === 'plain')\n        return;\n    throw mixed(",
    'return;\n    throw mixed(',
  ),
  mutation(
    10,
    'a list is one sample for trees and linear models',
    'operators/learning.js',
    "if (dims.length === 1)\n            throw mixed('a list is one sample, not a row for each element');\n        if (dims.length !== 2)",
    'if (dims.length === 1)\n            return [rows([dims[0]], 0), rows([dims[0], numbers], 0)];\n        if (dims.length !== 2)',
  ),
  mutation(
    10,
    'texts that are removed',
    'operators/learning.js',
    "if (call.has('stopwords'))\n        throw unknown('it may remove elements');",
    '',
  ),
  mutation(
    10,
    'a list is one text',
    'operators/learning.js',
    "if (dims.length !== 2 || value.axis !== 0)\n        throw mixed('a list is one text, not a row for each element');",
    '',
  ),
  mutation(
    11,
    'random numbers',
    'operators/generators.js',
    "export const random = () => {\n    throw unknown('it draws random numbers');\n};",
    'export const random = (call) => call.inputs[0] ?? plain([Size.constant(1)]);',
  ),
  mutation(
    11,
    'operators of other domains',
    'operators/operator-table.js',
    'return operators.get(keyOf(domain, operator));',
    "return operators.get(keyOf(domain, operator)) ?? operators.get(keyOf('', operator)) ?? operators.get(':Relu');",
  ),
  mutation(
    11,
    'bodies of functions',
    'interpreter.js',
    'if (body !== undefined)\n            return this.#runFunction(body, attributes, inputs, scope);',
    'if (body !== undefined)\n            return node.outputs.map(() => inputs.find((value) => value !== undefined));',
  ),
  mutation(
    1,
    'reductions over the batch axis',
    'operators/reduction.js',
    "if (isRows(value) && axes.has(value.axis))\n            throw mixed('it reduces over the batch axis');",
    'if (isRows(value) && axes.has(value.axis))\n            return value;',
  ),
  mutation(2, 'the number of rows as a value', 'value.js', 'contents.some((size) => size.dependsOnRows)', 'false'),
  mutation(
    4,
    'products of rows with rows',
    'operators/matrix.js',
    'if (isRows(left) && isRows(right) && (isLeftRowAxis || isRightColumnAxis))\n        throw mixed(outer);',
    'if (isRows(left) && isRows(right) && (isLeftRowAxis || isRightColumnAxis))\n        return left;',
  ),
  mutation(
    7,
    'batch normalisation in training',
    'operators/normalisation.js',
    "if (isTraining)\n            throw mixed('in training mode it computes statistics over the rows');",
    'if (isTraining)\n            return call.node.outputs.map(() => value);',
  ),
  mutation(
    9,
    'operators of com.microsoft that are not known',
    'operators/operator-table.js',
    'return operators.get(keyOf(domain, operator));',
    "return operators.get(keyOf(domain, operator)) ?? operators.get(':Relu');",
  ),
  mutation(
    9,
    'distances of rows from rows',
    'operators/matrix.js',
    'if (isRows(left) && isRows(right))\n        throw mixed(outer);\n    if ((isRows(left) && left.axis !== 0)',
    'if (isRows(left) && isRows(right))\n        return left;\n    if ((isRows(left) && left.axis !== 0)',
  ),
];

const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
const corpus = new URL('../../../../tests/oracle/corpus/traps/', import.meta.url);
interface Trap {
  readonly name: string;
  readonly trap: number;
  readonly isIndependent: boolean;
}
const traps = JSON.parse(readFileSync(new URL('traps.json', corpus), 'utf8')) as readonly Trap[];
let folder = '';
/** Harmful graphs that each mutant takes for independent. */
let wronglyProven: readonly (readonly string[])[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'row-mutations-'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const jobs = await Promise.all(mutations.map((one, number) => mutantOf(one, number)));
  wronglyProven = await analysedBy(jobs);
}, 60_000);

afterAll(() => rm(folder, { recursive: true }));

interface Job {
  readonly module: string;
  readonly graphs: readonly string[];
}

/** The analysis with one rule taken out, and the graphs it is tried with. */
async function mutantOf({ file, original, mutated, trap }: Mutation, number: number): Promise<Job> {
  const copy = join(folder, `${number}`);
  await cp(dist, copy, { recursive: true, filter: (path) => !/\.(map|d\.ts|tsbuildinfo|test\.js)$/.test(path) });
  const path = join(copy, 'rows', file);
  const text = await readFile(path, 'utf8');
  expect(text.split(original).length - 1, `occurrences of ${original}`).toBe(1);
  await writeFile(
    path,
    text.replace(original, () => mutated),
  );
  const harmful = traps.filter((one) => one.trap === trap && !one.isIndependent);
  return {
    module: pathToFileURL(join(copy, 'analyse-rows.js')).href,
    graphs: harmful.map(({ name }) => fileURLToPath(new URL(`${name}.onnx`, corpus))),
  };
}

/** In a thread without the test runner's own way of importing. */
async function analysedBy(jobs: readonly Job[]): Promise<readonly (readonly string[])[]> {
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    (async () => {
      const found = [];
      for (const { module, graphs } of workerData) {
        const { analyseRowsOfFile } = await import(module);
        const verdicts = await Promise.all(graphs.map((path) => analyseRowsOfFile(path)));
        found.push(graphs.filter((_, index) => verdicts[index].kind === 'independent'));
      }
      parentPort.postMessage(found);
    })();`;
  const thread = new Worker(program, { eval: true, workerData: jobs });
  const [found] = (await once(thread, 'message')) as [readonly (readonly string[])[]];
  return found;
}

describe('without the rule', () => {
  test.each(mutations.map((one, number) => ({ ...one, number })))(
    'of trap $trap on $rule, the corpus has a graph that is wrongly proven',
    ({ number }) => {
      expect(wronglyProven[number]).not.toEqual([]);
    },
  );

  test('every trap has a mutation', () => {
    expect(new Set(mutations.map(({ trap }) => trap))).toEqual(new Set(traps.map(({ trap }) => trap)));
  });
});
