/** Limits of the graphs that are analysed. A graph may be hostile: each limit is reached before memory runs out. */
export interface GraphLimits {
  /** Nodes of the graph, its subgraphs and functions together. */
  readonly nodesMax: number;
  /** Subgraphs inside subgraphs. */
  readonly depthMax: number;
  /** Bytes that are kept of the file: names, attributes, small tensors. */
  readonly bytesMax: number;
  /** Values kept of one stored tensor; of a tensor with more only the shape is kept. */
  readonly valuesMax: number;
}

export const graphLimits: GraphLimits = Object.freeze({
  nodesMax: 200_000,
  depthMax: 16,
  bytesMax: 64 * 1024 * 1024,
  valuesMax: 256,
});
