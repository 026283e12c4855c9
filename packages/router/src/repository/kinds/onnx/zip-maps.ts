/**
 * Classifiers that end in a ZipMap: workers load them without it, so that its output is the tensor of scores, and the
 * keys of its maps are the labels of that output.
 */
import { findZipMaps, type OnnxGraph, type OnnxTensor, type ZipMap } from '@millrace/onnx';

const elementTypeFloat = 1;

/** The ZipMaps whose outputs the graph gives; files without sequences and maps are not read for them. */
export async function zipMapsOf(path: string, { outputs }: OnnxGraph): Promise<readonly ZipMap[]> {
  if (!outputs.some(({ kind }) => kind === 'sequence' || kind === 'map')) return [];
  return findZipMaps(path);
}

/** The graph as workers load it: each of those outputs is a tensor with a row for every row and a column for every label. */
export function graphWithScores(graph: OnnxGraph, zipMaps: readonly ZipMap[]): OnnxGraph {
  if (zipMaps.length === 0) return graph;
  const labelsByOutput = new Map(zipMaps.map(({ output, labels }) => [output, labels]));
  const outputs = graph.outputs.map((tensor): OnnxTensor => {
    const labels = labelsByOutput.get(tensor.name);
    if (labels === undefined) return tensor;
    // The rows are those of whatever else the graph takes and gives, under whatever name.
    return { name: tensor.name, kind: 'tensor', elementType: elementTypeFloat, shape: ['', labels.length || ''] };
  });
  return { ...graph, outputs };
}

/** The labels of each of those outputs, unless a file names them. */
export function withZipMapLabels(
  written: ReadonlyMap<string, readonly string[]>,
  zipMaps: readonly ZipMap[],
): ReadonlyMap<string, readonly string[]> {
  if (zipMaps.length === 0) return written;
  return new Map([...zipMaps.map(({ output, labels }) => [output, labels.map(String)] as const), ...written]);
}
