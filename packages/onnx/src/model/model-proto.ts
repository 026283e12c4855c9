/** A model file with its nodes, for the analysis of the graph. Large weights are not read. */
import type { OnnxTensor } from '../onnx-graph.ts';

/** A tensor stored in the file: its shape always, its values only when they are few. */
export interface StoredTensor {
  readonly name: string;
  readonly elementType: number;
  readonly shape: readonly number[];
  /** Values of number tensors (booleans as 0 and 1); undefined when there are too many, or they are not plain numbers. */
  readonly values: readonly number[] | undefined;
}

export type AttributeValue =
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'tensor'; readonly value: StoredTensor }
  | { readonly kind: 'graph'; readonly value: GraphProto }
  | { readonly kind: 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'integers'; readonly value: readonly number[] }
  | { readonly kind: 'texts'; readonly value: readonly string[] }
  /** In the body of a function: the attribute of that name of the node that calls it. */
  | { readonly kind: 'reference'; readonly value: string }
  | { readonly kind: 'other' };

export interface NodeProto {
  readonly operator: string;
  /** Empty for the standard domain. */
  readonly domain: string;
  readonly name: string;
  /** Empty names are omitted inputs. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, AttributeValue>;
}

export interface GraphProto {
  readonly nodes: readonly NodeProto[];
  readonly inputs: readonly OnnxTensor[];
  readonly outputs: readonly OnnxTensor[];
  readonly initializers: ReadonlyMap<string, StoredTensor>;
}

/** A function defined in the file itself, called like an operator. */
export interface FunctionProto {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly nodes: readonly NodeProto[];
  readonly opsets: ReadonlyMap<string, number>;
  /** Attributes that a call may omit. */
  readonly defaults: ReadonlyMap<string, AttributeValue>;
}

export interface ModelProto {
  /** Version by operator domain; the standard one is ''. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly graph: GraphProto;
  /** By `domain:name`. */
  readonly functions: ReadonlyMap<string, FunctionProto>;
}

export function functionKey(domain: string, name: string): string {
  return `${domain}:${name}`;
}
