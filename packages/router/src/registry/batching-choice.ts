import type { OnnxGraph, OnnxTensor } from '@millrace/onnx';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { freeShape } from './tensor-config.ts';

/**
 * Rows in a batch of a model whose configuration does not say. Triton's is 4, because its batcher may hold requests
 * back to fill a batch. Batches here form only from what already waits while every instance is busy, so a large limit
 * delays nobody, and it lets throughput rise with the load.
 */
const rowsMaxDefault = 64;

/** The `max_batch_size` that a model is served with; 0: its tensors have no batch dimension. */
export function chooseRowsMax(config: ModelConfig, graph: OnnxGraph, findings: Findings): number {
  const written = config.max_batch_size;
  if (written !== undefined && written < 0) {
    findings.problem('max_batch_size', `${written} is out of range; it must be 0 (no batching) or more`);
    return 0;
  }
  const isComplete = (config.input ?? []).length > 0 && (config.output ?? []).length > 0;
  // Someone who wrote 0 meant it, although protobuf cannot tell it from nothing.
  if (isComplete || written === 0) return written ?? 0;
  const obstacle = batchingObstacle(graph);
  if (written !== undefined) {
    if (obstacle !== undefined) {
      findings.problem(
        'max_batch_size',
        `is ${written}, but ${obstacle}; set it to 0 or export the model with a free first size`,
      );
    }
    return written;
  }
  if (obstacle !== undefined || !fitsWrittenDims(config, graph)) return 0;
  warnOfUnequalNames(graph, findings);
  return rowsMaxDefault;
}

function batchingObstacle(graph: OnnxGraph): string | undefined {
  if (graph.inputs.length === 0) return 'the graph has no inputs';
  const fixed = [...graph.inputs, ...graph.outputs].find((tensor) => freeShape(tensor)?.[0] !== -1);
  if (fixed === undefined) return undefined;
  const shape = freeShape(fixed);
  const shown = shape === undefined ? 'has no stated shape' : `has the shape [ ${shape.join(', ')} ]`;
  return `${JSON.stringify(fixed.name)} ${shown} in the graph, without a free first size`;
}

/** Whether the entries that are written leave the batch dimension out. */
function fitsWrittenDims(config: ModelConfig, graph: OnnxGraph): boolean {
  const fits = (tensors: readonly OnnxTensor[]) => (entry: NonNullable<ModelConfig['output']>[number]) => {
    const rank = tensors.find(({ name }) => name === entry.name)?.shape?.length;
    const dims = entry.reshape?.shape ?? (entry.reshape === undefined ? entry.dims : []);
    return rank === undefined || dims === undefined || dims.length === rank - 1;
  };
  return (config.input ?? []).every(fits(graph.inputs)) && (config.output ?? []).every(fits(graph.outputs));
}

/** Equal names for the first size mean the same size; unequal ones may mean that it is not the batch everywhere. */
function warnOfUnequalNames(graph: OnnxGraph, findings: Findings): void {
  const names = new Set<string>();
  for (const tensor of [...graph.inputs, ...graph.outputs]) {
    const first = tensor.shape?.[0];
    if (typeof first === 'string' && first !== '') names.add(first);
  }
  if (names.size < 2) return;
  findings.warning(
    'max_batch_size',
    `is taken as ${rowsMaxDefault}, though the graph names its first sizes differently (${[...names].join(', ')}); ` +
      'write max_batch_size: 0 in config.pbtxt if they are not all the batch',
  );
}
