/** Opens a model with ONNX Runtime, as the specification of a load says. */
import type { LoadSpec } from '@millrace/protocol';
import { UnloadableModel } from '../engine.ts';
import { executionProvidersOf } from './execution-providers.ts';
import { isFinalFailure } from './final-failure.ts';
import { gpuFailureMessage } from './gpu-failure.ts';
import { externalFolderOption } from './model-source.ts';
import type { EngineInterface } from './native/engine-interface.ts';
import { NativeGraph } from './native/native-graph.ts';
import { InferenceSession } from './onnxruntime.ts';

/** Failures are reported in the answer; the engine's own log of each would only fill the log. */
const logSeverityFatal = 4;

/** `model`: the path of a file, or its content; the load fails with what the operator can do. */
export async function mustOpenSession(spec: LoadSpec, model: string | Uint8Array): Promise<InferenceSession> {
  const options: InferenceSession.SessionOptions = {
    executionProviders: executionProvidersOf(spec),
    intraOpNumThreads: spec.threads,
    logSeverityLevel: logSeverityFatal,
    extra: { session: sessionEntries(spec, model) },
  };
  try {
    return await (typeof model === 'string'
      ? InferenceSession.create(model, options)
      : InferenceSession.create(model, options));
  } catch (error) {
    const message = messageOf(error);
    if (spec.gpu !== undefined) {
      throw notLoaded(spec, await gpuFailureMessage(message, spec.gpu), isFinalFailure(message));
    }
    throw processorFailure(spec, message);
  }
}

/** The same by the C interface of the engine. */
export function mustOpenNativeGraph(engine: EngineInterface, spec: LoadSpec, model: string | Uint8Array): NativeGraph {
  const session = sessionEntries(spec, model);
  const entries = Object.fromEntries(Object.entries(session).map(([key, value]) => [`session.${key}`, value]));
  try {
    return new NativeGraph(engine, model, { threads: spec.threads, logSeverity: logSeverityFatal, entries });
  } catch (error) {
    throw processorFailure(spec, messageOf(error));
  }
}

/** Without the prefix `session.` that all of them have. */
function sessionEntries(spec: LoadSpec, model: string | Uint8Array): Record<string, string> {
  return {
    'intra_op.allow_spinning': spec.isSpinning ? '1' : '0',
    ...(typeof model === 'string' ? {} : externalFolderOption(spec.path)),
  };
}

function processorFailure(spec: LoadSpec, message: string): Error {
  const advice = message.startsWith('Unsupported data type')
    ? ' (an input or output of a type ONNX Runtime cannot pass to or from Node, such as BF16: add a Cast and export it again)'
    : '';
  return notLoaded(spec, `${message}${advice}`, isFinalFailure(message));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error);
}

/** The failure of a load; `isFinal`: no other load of the same files can succeed. */
export function notLoaded({ name, version, gpu }: LoadSpec, message: string, isFinal = false): Error {
  const device = gpu === undefined ? '' : ` on GPU ${gpu.id}`;
  const text = `model "${name}" version ${version} could not be loaded${device}: ${message}`;
  return isFinal ? new UnloadableModel(text) : new Error(text);
}
