/** What a model file says of itself, without its weights. */

/** A size that is fixed, or free: then by name if the file names it (`batch`), else with an empty name. */
export type OnnxDimension = number | string;

export interface OnnxTensor {
  readonly name: string;
  /** What the value is; only tensors can be served. */
  readonly kind: 'tensor' | 'sequence' | 'map' | 'optional' | 'sparse-tensor' | 'unknown';
  /** ONNX's number; 0 when the file does not say. */
  readonly elementType: number;
  /** Undefined when the file does not say how many dimensions there are. */
  readonly shape: readonly OnnxDimension[] | undefined;
}

export interface OnnxGraph {
  readonly irVersion: number;
  /** Version by operator domain; the standard one is ''. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly producerName: string;
  readonly producerVersion: string;
  readonly graphName: string;
  /** Inputs that a run must be given. */
  readonly inputs: readonly OnnxTensor[];
  /** Inputs that the file has a value for; a run may be given another. */
  readonly defaultedInputs: readonly OnnxTensor[];
  readonly outputs: readonly OnnxTensor[];
  readonly metadata: ReadonlyMap<string, string>;
  /** Of the graph itself and of the functions in the file; subgraphs of conditions and loops are not looked into. */
  readonly hasConvolutions: boolean;
  /** An operator in it that ends the engine's process where a tensor has no rows; undefined: none is known to. */
  readonly emptyHazard: string | undefined;
  /** Files that hold weights, relative to the model's own folder. */
  readonly externalFiles: readonly string[];
}
