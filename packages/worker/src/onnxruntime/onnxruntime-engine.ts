import { datatypes, elementCount, type LoadSpec } from '@millrace/protocol';
import { InferenceSession } from 'onnxruntime-node';
import { type Engine, ModelMismatch, type RunResult, type Session } from '../engine.ts';
import { modelProblems, unsupportedProblems } from './check-model.ts';
import { executionProvidersOf } from './execution-providers.ts';
import { FixedSizesSession, type SizedSession } from './fixed-sizes-session.ts';
import { gpuFailureWords, isMemoryFull, memoryFullWords } from './gpu-failure.ts';
import { OnnxruntimeSession } from './onnxruntime-session.ts';

/** Failures are told in the answer; the engine's own print of each would only fill the log. */
const logSeverityFatal = 4;

/** Runs ONNX models, on the CPU or on a GPU. */
export const onnxruntimeEngine: Engine = {
  name: 'onnxruntime',
  async load(spec) {
    mustHaveNone(spec, unsupportedProblems(spec));
    const { batchSizes } = spec;
    return batchSizes === undefined ? opened(spec, 1) : openedForSizes(spec, batchSizes);
  },
};

async function openedForSizes(spec: LoadSpec, batchSizes: readonly number[]): Promise<Session> {
  const sessions: SizedSession[] = [];
  try {
    for (const rows of batchSizes) sessions.push({ rows, session: await opened(spec, rows) });
    return new FixedSizesSession(sessions, spec);
  } catch (error) {
    for (const { session } of sessions) await session.unload();
    throw error;
  }
}

/** Checked, and warmed up with so many rows. */
async function opened(spec: LoadSpec, rows: number): Promise<Session> {
  const session = await mustOpen(spec);
  try {
    mustHaveNone(spec, modelProblems(spec, session.inputMetadata, session.outputMetadata));
    const loaded = new OnnxruntimeSession(session, spec);
    mustHaveNone(spec, await warmUp(loaded, spec, rows));
    return loaded;
  } catch (error) {
    await session.release();
    throw error;
  }
}

async function mustOpen(spec: LoadSpec): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(spec.path, {
      executionProviders: executionProvidersOf(spec),
      intraOpNumThreads: spec.threads,
      logSeverityLevel: logSeverityFatal,
      extra: { session: { intra_op: { allow_spinning: spec.isSpinning ? '1' : '0' } } },
    });
  } catch (error) {
    const message = error instanceof Error ? error.message.trim() : String(error);
    if (spec.gpu !== undefined) throw notLoaded(spec, await gpuFailureWords(message, spec.gpu));
    const advice = message.startsWith('Unsupported data type')
      ? ' (an input or output of a type ONNX Runtime cannot pass to or from Node, such as BF16: add a Cast and export it again)'
      : '';
    throw notLoaded(spec, `${message}${advice}`);
  }
}

function notLoaded({ name, version, gpu }: LoadSpec, words: string): Error {
  const place = gpu === undefined ? '' : ` on GPU ${gpu.id}`;
  return new Error(`model "${name}" version ${version} could not be loaded${place}: ${words}`);
}

/**
 * The first run pays for allocations that later ones do not, so it is made before the model is said to be ready:
 * rows of zeros, free dimensions 1. A model may well refuse such an input; that says nothing of real ones. If it answers,
 * the shapes must be those declared. Strings have no such neutral value, so a model that takes them is not warmed up.
 */
async function warmUp(session: OnnxruntimeSession, spec: LoadSpec, rows: number): Promise<string[]> {
  if (spec.inputs.some(({ datatype }) => datatype === 'BYTES')) return [];
  const inputs = spec.inputs.map((input, index) => {
    const shape = input.shape.map((dimension) => (dimension === -1 ? 1 : dimension));
    if (spec.isBatched) shape[0] = rows;
    return { index, shape, data: new Uint8Array(elementCount(shape) * (datatypes[input.datatype].bytes ?? 0)) };
  });
  const outputs = spec.outputs.map((_, index) => index);
  let result: RunResult;
  try {
    result = await session.runUnplaced({
      inputs,
      outputs,
      lend: (bytes) => ({ bytes: new Uint8Array(bytes), release: () => {} }),
    });
  } catch (error) {
    // A GPU that is too full for zeros is too full for requests.
    if (spec.gpu !== undefined && error instanceof Error && isMemoryFull(error.message)) {
      throw notLoaded(spec, memoryFullWords);
    }
    return [];
  }
  return result.outputs.flatMap(({ index, shape }) => {
    const declared = spec.outputs[index];
    if (declared === undefined) return [];
    const isAsDeclared =
      (!spec.isBatched || shape[0] === rows) &&
      shape.length === declared.shape.length &&
      declared.shape.every((dimension, axis) => dimension === -1 || dimension === shape[axis]);
    if (isAsDeclared) return [];
    return [
      `output "${declared.name}" came out as [${shape}] for ${rows === 1 ? 'one row' : `${rows} rows`} of zeros and is declared as [${declared.shape}]: correct the configuration`,
    ];
  });
}

function mustHaveNone(spec: LoadSpec, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new ModelMismatch(
    `model "${spec.name}" version ${spec.version} does not fit its configuration: ${problems.join('; ')}`,
  );
}
