import type { LoadSpec } from '@millrace/protocol';
import type { InferenceSession } from 'onnxruntime-node';

/**
 * What runs the graph, the first choice first: each takes the operators that it can, and leaves the rest to the next.
 * A GPU that cannot be had fails the load: falling back to the CPU as a whole would be a silent loss of its speed.
 */
export function executionProvidersOf({ gpu }: LoadSpec): readonly InferenceSession.ExecutionProviderConfig[] {
  if (gpu === undefined) return ['cpu'];
  const cuda = { name: 'cuda', deviceId: gpu.id } as const;
  return gpu.provider === 'cuda' ? [cuda, 'cpu'] : [{ name: 'tensorrt', deviceId: gpu.id }, cuda, 'cpu'];
}
