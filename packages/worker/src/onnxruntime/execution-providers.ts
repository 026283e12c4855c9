import type { LoadSpec } from '@millrace/protocol';
import type { InferenceSession } from 'onnxruntime-node';

/**
 * The execution providers of a model, the preferred one first: each takes the operators that it can run, and leaves the rest to
 * the next. A GPU that is not available fails the load: a fallback to the CPU would be a silent loss of speed.
 */
export function executionProvidersOf({ gpu }: LoadSpec): readonly InferenceSession.ExecutionProviderConfig[] {
  if (gpu === undefined) return ['cpu'];
  const cuda = { name: 'cuda', deviceId: gpu.id } as const;
  return gpu.provider === 'cuda' ? [cuda, 'cpu'] : [{ name: 'tensorrt', deviceId: gpu.id }, cuda, 'cpu'];
}
