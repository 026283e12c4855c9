/** The warm-up requests of a configuration, checked against the model's inputs, as recipes that a worker follows. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  elementCount,
  messageFromFileError,
  type TensorSpec,
  takeByteSize,
  takeDatatypeOfConfig,
  type WarmupFill,
  type WarmupInput,
  type WarmupSample,
} from '@millrace/protocol';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { suggestionFor } from './config-text/suggestion.ts';
import { staysInside } from './label-file.ts';

/** Beside the versions, as in Triton's repositories. */
const warmupFolder = 'warmup';
const warmupSamplesMax = 64;
/** Runs of one sample. */
export const warmupRunsMax = 10_000;
/** All inputs of one sample, its rows included. */
export const warmupBytesMax = 256 * 1024 * 1024;
/** The least that an element of text costs, for the limit above. */
const textElementBytes = 4;

type WrittenSample = NonNullable<ModelConfig['model_warmup']>[number];
type WrittenInput = NonNullable<WrittenSample['inputs']>[string];

export interface WarmupSource {
  readonly inputs: readonly TensorSpec[];
  /** 0: the tensors have no batch dimension. */
  readonly rowsMax: number;
  /** The model's folder. */
  readonly folder: string;
  /** Inputs after those above that the server makes: the shape of each row of the input at `source`. */
  readonly rowShapes?: readonly { readonly source: number }[];
}

export async function readWarmup(
  config: ModelConfig,
  warmupSource: WarmupSource,
  findings: Findings,
): Promise<readonly WarmupSample[]> {
  const written = config.model_warmup ?? [];
  if (written.length > warmupSamplesMax) {
    findings.problem('model_warmup', `has ${written.length} samples, more than ${warmupSamplesMax}; remove some`);
    return [];
  }
  const samples: WarmupSample[] = [];
  for (const [index, sample] of written.entries()) {
    samples.push(await readSample(sample, `model_warmup[${index}]`, warmupSource, findings));
  }
  return samples;
}

async function readSample(
  written: WrittenSample,
  path: string,
  warmupSource: WarmupSource,
  findings: Findings,
): Promise<WarmupSample> {
  const { name = '', inputs: writtenInputs = {} } = written;
  if (name === '') findings.problem(`${path}.name`, 'is missing; give the sample a name for messages about it');
  const rows = readCount(written.batch_size, Math.max(1, warmupSource.rowsMax), `${path}.batch_size`, findings);
  const runs = readCount(written.count, warmupRunsMax, `${path}.count`, findings);
  const inputs: WarmupInput[] = [];
  let bytes = 0;
  for (const [key, input] of Object.entries(writtenInputs)) {
    const inputPath = `${path}.inputs[${JSON.stringify(key)}]`;
    const index = warmupSource.inputs.findIndex((spec) => spec.name === key);
    const spec = warmupSource.inputs[index];
    if (spec === undefined) {
      const names = warmupSource.inputs.map((known) => known.name);
      const hint = suggestionFor(key, names) || `; it has ${names.join(', ')}`;
      findings.problem(inputPath, `the model has no input ${JSON.stringify(key)}${hint}`);
      continue;
    }
    const shape = readShape(input, spec, warmupSource, inputPath, findings);
    const fill = await readFill(input, spec, shape, warmupSource, inputPath, findings);
    if (shape === undefined || fill === undefined) continue;
    bytes += rows * (takeByteSize(spec.datatype, shape) ?? textElementBytes * elementCount(shape));
    inputs.push({ index, shape, fill });
  }
  for (const { name: required, isOptional } of warmupSource.inputs) {
    if (isOptional === true || Object.hasOwn(writtenInputs, required)) continue;
    findings.problem(`${path}.inputs`, `does not give ${JSON.stringify(required)}, which the model requires; add it`);
  }
  for (const [position, { source }] of (warmupSource.rowShapes ?? []).entries()) {
    const values = inputs.find(({ index }) => index === source)?.shape ?? [];
    const index = warmupSource.inputs.length + position;
    inputs.push({ index, shape: [values.length], fill: { kind: 'values', values } });
  }
  if (bytes > warmupBytesMax) {
    findings.problem(
      `${path}.inputs`,
      `take ${bytes} bytes, more than ${warmupBytesMax}; use smaller dims or fewer rows`,
    );
  }
  return { name, rows, runs, inputs };
}

/** Protobuf does not distinguish 0 from an absent field; both mean once. */
function readCount(written: number | undefined, max: number, path: string, findings: Findings): number {
  const count = written === undefined || written === 0 ? 1 : written;
  if (count > max) findings.problem(path, `${count} is out of range; it must be from 1 to ${max}`);
  return count;
}

function readShape(
  written: WrittenInput,
  spec: TensorSpec,
  { rowsMax }: WarmupSource,
  path: string,
  findings: Findings,
): readonly number[] | undefined {
  const datatype = takeDatatypeOfConfig(written.data_type ?? '');
  if (datatype !== spec.datatype) {
    findings.problem(`${path}.data_type`, `is ${written.data_type ?? 'missing'}, but the input is ${spec.datatype}`);
  }
  const expected = rowsMax > 0 && spec.hasDefault !== true ? spec.shape.slice(1) : spec.shape;
  const shape = (written.dims ?? []).map(Number);
  const fits =
    shape.length === expected.length && shape.every((size, axis) => sizeFits(size, expected[axis] as number));
  if (fits && Number.isFinite(elementCount(shape))) return shape;
  const rule = 'each size stated, and without the batch dimension';
  findings.problem(
    `${path}.dims`,
    `is [ ${shape.join(', ')} ], which does not fit [ ${expected.join(', ')} ]: ${rule}`,
  );
  return undefined;
}

function sizeFits(size: number, expected: number): boolean {
  return Number.isSafeInteger(size) && size >= 0 && (expected < 0 || size === expected);
}

async function readFill(
  written: WrittenInput,
  spec: TensorSpec,
  shape: readonly number[] | undefined,
  { folder }: WarmupSource,
  path: string,
  findings: Findings,
): Promise<WarmupFill | undefined> {
  if (written.zero_data === true) return { kind: 'zeros' };
  if (written.random_data === true) return { kind: 'random' };
  const file = written.input_data_file ?? '';
  if (file === '') {
    findings.problem(path, 'needs zero_data: true, random_data: true or an input_data_file');
    return undefined;
  }
  if (!staysInside(file)) {
    findings.problem(`${path}.input_data_file`, `${JSON.stringify(file)} must be inside the folder ${warmupFolder}`);
    return undefined;
  }
  const filePath = join(folder, warmupFolder, file);
  const expected = shape === undefined ? undefined : takeByteSize(spec.datatype, shape);
  try {
    const stats = await stat(filePath);
    if (!stats.isFile()) findings.problem(`${path}.input_data_file`, `${filePath} is not a regular file`);
    else if (stats.size > warmupBytesMax) {
      findings.problem(`${path}.input_data_file`, `${filePath} has ${stats.size} bytes, more than ${warmupBytesMax}`);
    } else if (expected !== undefined && stats.size !== expected) {
      const mismatch = `${filePath} has ${stats.size} bytes, but one row of these dims takes ${expected}`;
      findings.problem(`${path}.input_data_file`, mismatch);
    }
  } catch (error) {
    findings.problem(`${path}.input_data_file`, `${filePath} ${messageFromFileError(error)}`);
  }
  return { kind: 'file', path: filePath };
}
