/** What a graph may hold before it is no longer looked into. A graph may be hostile: each limit is reached before memory is. */
export interface GraphLimits {
  /** Nodes of the graph, its subgraphs and functions together. */
  readonly nodesMax: number;
  /** Subgraphs inside subgraphs. */
  readonly depthMax: number;
  /** Bytes that are kept of the file: names, attributes, small tensors. */
  readonly bytesMax: number;
  /** Values kept of one stored tensor; a tensor with more is known by its shape alone. */
  readonly valuesMax: number;
}

export const graphLimits: GraphLimits = Object.freeze({
  nodesMax: 200_000,
  depthMax: 16,
  bytesMax: 64 * 1024 * 1024,
  valuesMax: 256,
});
