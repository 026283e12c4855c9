/** Inputs with the answers that a model must give, as the makers of the models wrote them down. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Datatype } from '@millrace/protocol';
import { ModelRepository } from '@millrace/worker/testing';
import { repositoryRoot } from './repository-root.ts';

export type Element = number | bigint | boolean | string;

export interface NamedValues {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly values: readonly Element[];
}

export interface GoldenPair {
  readonly title: string;
  readonly model: string;
  /** Empty: whichever version the model prefers. */
  readonly version: string;
  readonly inputs: readonly NamedValues[];
  readonly outputs: readonly NamedValues[];
  readonly tolerance: number;
}

interface WrittenTensor extends Pick<NamedValues, 'name' | 'datatype' | 'shape'> {
  readonly data?: readonly Element[];
  /** Values that fill the shape over and over. */
  readonly repeat?: readonly Element[];
}

interface WrittenPair {
  readonly inputs: readonly WrittenTensor[];
  readonly outputs: readonly WrittenTensor[];
}

const toleranceMax = 1e-4;
const floats: ReadonlySet<Datatype> = new Set(['FP16', 'BF16', 'FP32', 'FP64']);

/** tests/make-models/golden/MODEL.json holds the cases of one model each. */
export function testModelPairs(): readonly GoldenPair[] {
  const folder = join(repositoryRoot, 'tests/make-models/golden');
  return readdirSync(folder).flatMap((file) => {
    const model = file.replace(/\.json$/, '');
    const { relative_tolerance, cases } = read<{ relative_tolerance: number; cases: WrittenPair[] }>(folder, file);
    return cases.map((pair, index) => pairFrom(pair, `${model}, case ${index + 1}`, model, '', relative_tolerance));
  });
}

const zoo = join(repositoryRoot, 'models');

/** models/MODEL/golden/NAME.json holds one pair each; those of a generator are for its graph, which `zooGraphs` serves. */
export function zooPairs(): readonly GoldenPair[] {
  return readdirSync(zoo).flatMap((model) => {
    const folder = join(zoo, model, 'golden');
    if (!existsSync(folder)) return [];
    const served = isGenerator(model) ? graphNameOf(model) : model;
    return readdirSync(folder).map((file) => {
      const pair = read<WrittenPair & { version: string; tolerance: number }>(folder, file);
      return pairFrom(pair, `${served}, ${file}`, served, pair.version, pair.tolerance);
    });
  });
}

/** The graphs of the zoo's generators, without what makes them generators: they take and give tensors. */
export function zooGraphs(): ModelRepository {
  const repository = new ModelRepository();
  for (const model of readdirSync(zoo).filter(isGenerator)) {
    repository.write(`${graphNameOf(model)}/1/model.onnx`, readFileSync(join(zoo, model, '1/model.onnx')));
  }
  return repository;
}

function graphNameOf(generator: string): string {
  return `${generator}_tensors`;
}

function isGenerator(model: string): boolean {
  return existsSync(join(zoo, model, '1/tokenizer.json'));
}

function read<T>(folder: string, file: string): T {
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as T;
}

function pairFrom(
  pair: WrittenPair,
  title: string,
  model: string,
  version: string,
  writtenTolerance: number,
): GoldenPair {
  const tolerance = Math.min(writtenTolerance, toleranceMax);
  return { title, model, version, inputs: pair.inputs.map(valuesOf), outputs: pair.outputs.map(valuesOf), tolerance };
}

function valuesOf({ name, datatype, shape, data, repeat }: WrittenTensor): NamedValues {
  const count = shape.reduce((product, size) => product * size, 1);
  const written = data ?? Array.from({ length: count }, (_, index) => repeat?.[index % repeat.length] as Element);
  const isWide = datatype === 'INT64' || datatype === 'UINT64';
  const values = isWide ? written.map((value) => BigInt(value as string | number)) : written;
  if (values.length !== count) throw new Error(`${name} has ${values.length} values for shape [${shape.join(', ')}]`);
  return { name, datatype, shape, values };
}

/** Undefined when the answer is the expected one: floats within the tolerance, everything else exactly. */
export function differenceBetween(pair: GoldenPair, answer: readonly NamedValues[]): string | undefined {
  for (const expected of pair.outputs) {
    const actual = answer.find(({ name }) => name === expected.name);
    if (actual === undefined) return `${expected.name} is missing`;
    const head = ({ datatype, shape }: NamedValues) => `${datatype} [${shape.join(', ')}]`;
    if (head(actual) !== head(expected)) return `${expected.name} is ${head(actual)}, not ${head(expected)}`;
    if (actual.values.length !== expected.values.length) return `${expected.name} has ${actual.values.length} values`;
    const at = expected.values.findIndex(
      (value, index) => !isEqual(value, actual.values[index], floats.has(expected.datatype) ? pair.tolerance : 0),
    );
    if (at >= 0) return `${expected.name}[${at}] is ${actual.values[at]}, not ${expected.values[at]}`;
  }
  return answer.length === pair.outputs.length ? undefined : `there are ${answer.length} outputs`;
}

/** Relative to the larger of the expected value and one, as the makers of the models compare. */
function isEqual(expected: Element, actual: Element | undefined, tolerance: number): boolean {
  if (expected === actual) return true;
  if (typeof expected !== 'number' || typeof actual !== 'number') return false;
  return Math.abs(expected - actual) <= tolerance * Math.max(1, Math.abs(expected));
}
