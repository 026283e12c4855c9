/** Turns the values given on the command line into the tensors of the model: datatypes, and shapes if possible, come from the model. */
import {
  InferenceError,
  JsonReader,
  type JsonValue,
  parseJson,
  readTensorData,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { tensorText } from '../start-screen.ts';
import { type InputFile, tensorFromFile } from './file-tensor.ts';
import { randomTensor } from './random-tensor.ts';

export interface WantedInputs {
  /** JSON text by input. */
  readonly values: ReadonlyMap<string, string>;
  /** Files by input. */
  readonly files: ReadonlyMap<string, InputFile>;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  /** Inputs that are left out when no value is given. */
  readonly optional: ReadonlySet<string>;
  /** Generates the inputs without values that are not optional. */
  readonly random: { readonly seed: number; readonly rows: number } | undefined;
}

const encoder = new TextEncoder();

export function buildInputs(specs: readonly TensorSpec[], wanted: WantedInputs): Tensor[] {
  const names = specs.map((spec) => spec.name);
  for (const name of [...wanted.values.keys(), ...wanted.files.keys(), ...wanted.shapes.keys()]) {
    if (!names.includes(name))
      throw new CommandFailure(`the model has no input ${name}; it takes ${specs.map(tensorText).join(', ')}`);
  }
  const inputs: Tensor[] = [];
  for (const [index, spec] of specs.entries()) {
    const text = wanted.values.get(spec.name);
    const file = wanted.files.get(spec.name);
    if (file !== undefined) inputs.push(tensorFromFile(spec, file, wanted.shapes.get(spec.name)));
    else if (text !== undefined) inputs.push(tensorFrom(spec, text, wanted.shapes.get(spec.name)));
    else if (wanted.optional.has(spec.name)) continue;
    else if (wanted.random !== undefined) {
      const { seed, rows } = wanted.random;
      const shape =
        wanted.shapes.get(spec.name) ?? spec.shape.map((size, axis) => (size >= 0 ? size : axis === 0 ? rows : 1));
      // Every input has its own random sequence: adding an input does not change the others.
      inputs.push(randomTensor(spec, shape, seed + index));
    } else {
      throw new CommandFailure(
        `input ${tensorText(spec)} has no values; give --input '${spec.name}=[…]', --input ${spec.name}=@FILE, or --random`,
      );
    }
  }
  return inputs;
}

/** Words for an input of texts need no quotes: --input 'text=I loved it.' */
const isJsonStart = /^\s*["[]/;

function tensorFrom(spec: TensorSpec, given: string, wantedShape: readonly number[] | undefined): Tensor {
  const text = spec.datatype === 'BYTES' && !isJsonStart.test(given) ? JSON.stringify(given) : given;
  let value: JsonValue;
  try {
    value = parseJson(encoder.encode(text));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const example = spec.datatype === 'BYTES' ? '["a text"]' : '[1, 2]';
    throw new CommandFailure(`--input ${spec.name} is not JSON (${why}); write --input '${spec.name}=${example}'`);
  }
  const { shape, depth } = fitted(spec, sizesOf(value), wantedShape);
  const data = `${'['.repeat(depth)}${text}${']'.repeat(depth)}`;
  try {
    const bytes = readTensorData(
      new JsonReader(encoder.encode(data)),
      { name: spec.name, datatype: spec.datatype, shape },
      { acceptsHalfPrecision: true },
    );
    return { name: spec.name, datatype: spec.datatype, shape, data: bytes };
  } catch (error) {
    if (error instanceof InferenceError) throw new CommandFailure(error.message);
    throw error;
  }
}

/** The length of every level of nesting, taken from the first element of each. */
function sizesOf(value: JsonValue): number[] {
  const sizes: number[] = [];
  for (let level: JsonValue | undefined = value; Array.isArray(level); level = level[0]) sizes.push(level.length);
  return sizes;
}

/** The shape the values stand for, and how many brackets are missing around them. */
function fitted(
  spec: TensorSpec,
  sizes: readonly number[],
  wantedShape: readonly number[] | undefined,
): { shape: readonly number[]; depth: number } {
  const depth = sizes.length === 0 ? 1 : 0;
  const given = sizes.length === 0 ? [1] : sizes;
  if (wantedShape !== undefined) return { shape: wantedShape, depth };
  if (given.length === spec.shape.length) return { shape: given, depth };
  // One row of a batched model, written without the batch around it.
  if (given.length > 1 && given.length === spec.shape.length - 1 && spec.shape[0] === -1) {
    return { shape: [1, ...given], depth: depth + 1 };
  }
  const free = spec.shape.filter((size) => size < 0).length;
  const known = spec.shape.filter((size) => size >= 0).reduce((product, size) => product * size, 1);
  const count = given[0] as number;
  if (given.length === 1 && free === 0) return { shape: spec.shape, depth };
  if (given.length === 1 && free === 1 && known > 0 && count % known === 0) {
    return { shape: spec.shape.map((size) => (size < 0 ? count / known : size)), depth };
  }
  const written = `[${given.join(',')}]`;
  throw new CommandFailure(
    `values of shape ${written} do not fit ${tensorText(spec)}; give their shape with --shape ${spec.name}=N,N`,
  );
}
