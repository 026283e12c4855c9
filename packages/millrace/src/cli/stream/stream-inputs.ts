/** The inputs of a stream, in the order in which they are sent: a text, tensors, audio in frames, or lines of standard input. */
import { closeSync, createReadStream, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import {
  type JsonValue,
  messageFromFileError,
  parseJson,
  stringifyJson,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import type { StreamInputJson } from '../../stream-client/stream-frames.ts';
import { CommandFailure } from '../command-failure.ts';
import { buildInputs } from '../infer/build-inputs.ts';
import { InferenceClient } from '../infer/inference-client.ts';
import { linesOf } from '../lines-of.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { isObject } from '../server-call.ts';
import { tensorText } from '../start-screen.ts';
import { audioFrames } from './audio-samples.ts';
import type { StreamCommandPlan } from './stream-plan.ts';

export interface NextInput {
  readonly input: StreamInputJson;
  readonly isLast: boolean;
}

type InputParts = Pick<CommandEnvironment, 'stdin' | 'cwd' | 'fetch' | 'delay' | 'now'>;

/** As long as an input of a stream may be by default. */
const lineBytesMax = 8 * 1024 * 1024;

/** Only ends the inputs. */
const noInput: NextInput = { input: { fields: {}, bytes: 0 }, isLast: true };

export async function* streamInputs(
  plan: StreamCommandPlan,
  parts: InputParts,
  signal: AbortSignal,
): AsyncGenerator<NextInput> {
  if (plan.text !== undefined) {
    yield { input: textInput(plan.text), isLast: true };
    return;
  }
  const specs = new ModelInputs(plan, parts);
  if (plan.inputs.size > 0) {
    yield* givenInputs(plan, parts, await specs.all(), signal);
    return;
  }
  // A stream that is taken up may have all its inputs.
  if (plan.isTakenUp) return;
  for await (const line of linesOf(parts.stdin, lineBytesMax)) {
    if (signal.aborted) return;
    if (line.trim() === '') continue;
    yield {
      input: line.trimStart().startsWith('{') ? await inputFromLine(line, specs) : textInput(line),
      isLast: false,
    };
  }
  yield noInput;
}

function textInput(text: string): StreamInputJson {
  return { fields: { text }, bytes: Buffer.byteLength(text) };
}

/** What the model takes, asked when it is needed. */
class ModelInputs {
  readonly #plan: StreamCommandPlan;
  readonly #parts: InputParts;
  #specs: readonly TensorSpec[] | undefined;

  constructor(plan: StreamCommandPlan, parts: InputParts) {
    this.#plan = plan;
    this.#parts = parts;
  }

  async all(): Promise<readonly TensorSpec[]> {
    const { url, lostMsMax, context } = this.#plan;
    const client = new InferenceClient({ url, fetch: this.#parts.fetch, timeoutMs: lostMsMax });
    const [, model = context, version] = /^([^:]+):(.+)$/.exec(context) ?? [];
    this.#specs ??= (await client.metadata(model, version)).inputs;
    return this.#specs;
  }
}

/** The fields of an input frame, or values by the names of inputs. */
async function inputFromLine(line: string, specs: ModelInputs): Promise<StreamInputJson> {
  let value: JsonValue;
  try {
    value = parseJson(Buffer.from(line));
  } catch (error) {
    throw new CommandFailure(`a line of standard input is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new CommandFailure('a line of standard input is not a JSON object');
  if (typeof value.text === 'string' || Array.isArray(value.tensors) || typeof value.bytes === 'string') {
    const { sequence: _sequence, end_of_input: _end, endOfInput: _endOfInput, ...fields } = value;
    // A number takes at least two characters, and at most eight bytes.
    return { fields, bytes: 4 * line.length };
  }
  const values = new Map(Object.entries(value).map(([name, data]) => [name, stringifyJson(data)]));
  return tensorsInput(buildInputs(namedOnly(await specs.all(), [...values.keys()]), wantedOf(values)));
}

/** A stream may keep the other inputs itself: the state of its model. */
function namedOnly(specs: readonly TensorSpec[], names: readonly string[]): readonly TensorSpec[] {
  for (const name of names) {
    if (specs.some((spec) => spec.name === name)) continue;
    throw new CommandFailure(`the model has no input ${name}; it takes ${specs.map(tensorText).join(', ')}`);
  }
  return specs.filter(({ name }) => names.includes(name));
}

function wantedOf(
  values: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, { path: string; bytes: Uint8Array }> = new Map(),
) {
  return {
    values,
    files,
    shapes: new Map<string, readonly number[]>(),
    optional: new Set<string>(),
    random: undefined,
  };
}

function tensorsInput(tensors: readonly Tensor[]): StreamInputJson {
  return {
    fields: {
      tensors: tensors.map(({ name, datatype, shape, data }) => ({
        name,
        datatype,
        shape: [...shape],
        raw: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
      })),
    },
    bytes: tensors.reduce((sum, { data }) => sum + data.length, 0),
  };
}

async function* givenInputs(
  plan: StreamCommandPlan,
  parts: InputParts,
  all: readonly TensorSpec[],
  signal: AbortSignal,
): AsyncGenerator<NextInput> {
  const specs = namedOnly(all, [...plan.inputs.keys()]);
  const [only] = specs;
  const [file = ''] = plan.inputs.values();
  if (only !== undefined && specs.length === 1 && isAudio(only, file, parts.cwd)) {
    yield* audioInputs(plan, parts, only, file.slice(1), signal);
    return;
  }
  const values = new Map([...plan.inputs].filter(([, value]) => !value.startsWith('@')));
  const files = new Map(
    [...plan.inputs].flatMap(([name, value]) =>
      value.startsWith('@') ? [[name, { path: value.slice(1), bytes: readWhole(value.slice(1), parts.cwd) }]] : [],
    ),
  );
  yield { input: tensorsInput(buildInputs(specs, wantedOf(values, files))), isLast: true };
}

function isAudio({ datatype }: TensorSpec, value: string, cwd: string): boolean {
  if (datatype === 'BYTES' || !value.startsWith('@')) return false;
  if (value === '@-') return true;
  const head = Buffer.alloc(4);
  try {
    const descriptor = openSync(path.resolve(cwd, value.slice(1)), 'r');
    try {
      readSync(descriptor, head, 0, 4, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new CommandFailure(`${value.slice(1)} ${messageFromFileError(error)}`);
  }
  return head.toString('latin1') === 'RIFF';
}

async function* audioInputs(
  { rate, isRealTime }: StreamCommandPlan,
  { stdin, cwd, delay, now }: InputParts,
  spec: TensorSpec,
  file: string,
  signal: AbortSignal,
): AsyncGenerator<NextInput> {
  const shape = spec.shape.map((size) => (size < 0 ? 1 : size));
  const frameSamples = shape.reduce((product, size) => product * size, 1);
  if (spec.datatype !== 'FP32' || frameSamples < 2) {
    throw new CommandFailure(
      `audio can be sent to an FP32 input with frames of a fixed size, and not to ${tensorText(spec)}`,
    );
  }
  const source = file === '-' ? stdin : createReadStream(path.resolve(cwd, file));
  const name = file === '-' ? 'standard input' : file;
  const beganAt = now();
  let frames = 0;
  for await (const samples of audioFrames(source, { name, frameSamples, rate })) {
    if (signal.aborted) return;
    // A frame exists when its last sample has been heard.
    frames += 1;
    const dueMs = beganAt + (frames * frameSamples * 1000) / rate - now();
    if (isRealTime && dueMs > 0) await delay(dueMs, signal).catch(() => {});
    const data = new Uint8Array(samples.buffer);
    yield { input: tensorsInput([{ name: spec.name, datatype: 'FP32', shape, data }]), isLast: false };
  }
  yield noInput;
}

function readWhole(file: string, cwd: string): Uint8Array {
  try {
    return readFileSync(path.resolve(cwd, file));
  } catch (error) {
    throw new CommandFailure(`${file} ${messageFromFileError(error)}`);
  }
}
