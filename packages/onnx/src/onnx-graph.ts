/** What a model file declares, without its weights. */

/** A size that is fixed, or free: then by name if the file names it (`batch`), else with an empty name. */
export type OnnxDimension = number | string;

export interface OnnxTensor {
  readonly name: string;
  /** The kind of the value; only tensors can be served. */
  readonly kind: 'tensor' | 'sequence' | 'map' | 'optional' | 'sparse-tensor' | 'unknown';
  /** ONNX's number; 0 when the file does not say. */
  readonly elementType: number;
  /** Undefined when the file does not state the number of dimensions. */
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
  /** Inputs with a default value in the file; a run may override it. */
  readonly defaultedInputs: readonly OnnxTensor[];
  readonly outputs: readonly OnnxTensor[];
  readonly metadata: ReadonlyMap<string, string>;
  /**
   * Operators of the graph itself and of the functions in the file; subgraphs of conditions and loops are not included.
   */
  readonly hasConvolutions: boolean;
  /** An operator that crashes the engine's process where a tensor has no rows; undefined: none is known. */
  readonly emptyHazard: string | undefined;
  /** Files with weights, relative to the model's folder. */
  readonly externalFiles: readonly string[];
}
