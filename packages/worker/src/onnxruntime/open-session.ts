/** Opens a model with ONNX Runtime, as the specification of a load says. */
import type { LoadSpec } from '@millrace/protocol';
import { UnloadableModel } from '../engine.ts';
import { executionProvidersOf } from './execution-providers.ts';
import { isFinalFailure } from './final-failure.ts';
import { gpuFailureMessage } from './gpu-failure.ts';
import { externalFolderOption } from './model-source.ts';
import { InferenceSession } from './onnxruntime.ts';

/** Failures are reported in the answer; the engine's own log of each would only fill the log. */
const logSeverityFatal = 4;

/** `model`: the path of a file, or its content; the load fails with what the operator can do. */
export async function mustOpenSession(spec: LoadSpec, model: string | Uint8Array): Promise<InferenceSession> {
  const isFile = typeof model === 'string';
  const options: InferenceSession.SessionOptions = {
    executionProviders: executionProvidersOf(spec),
    intraOpNumThreads: spec.threads,
    logSeverityLevel: logSeverityFatal,
    extra: {
      session: {
        intra_op: { allow_spinning: spec.isSpinning ? '1' : '0' },
        ...(isFile ? {} : externalFolderOption(spec.path)),
      },
    },
  };
  try {
    return await (isFile ? InferenceSession.create(model, options) : InferenceSession.create(model, options));
  } catch (error) {
    const message = error instanceof Error ? error.message.trim() : String(error);
    if (spec.gpu !== undefined) {
      throw notLoaded(spec, await gpuFailureMessage(message, spec.gpu), isFinalFailure(message));
    }
    const advice = message.startsWith('Unsupported data type')
      ? ' (an input or output of a type ONNX Runtime cannot pass to or from Node, such as BF16: add a Cast and export it again)'
      : '';
    throw notLoaded(spec, `${message}${advice}`, isFinalFailure(message));
  }
}

/** The failure of a load; `isFinal`: no other load of the same files can succeed. */
export function notLoaded({ name, version, gpu }: LoadSpec, message: string, isFinal = false): Error {
  const device = gpu === undefined ? '' : ` on GPU ${gpu.id}`;
  const text = `model "${name}" version ${version} could not be loaded${device}: ${message}`;
  return isFinal ? new UnloadableModel(text) : new Error(text);
}
