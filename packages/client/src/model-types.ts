/** Types of models, which `millrace types URL` writes for the models of a server. Without them every name and value is accepted. */
import type { Datatype } from '@millrace/protocol';
import type { ModelInput, ShapedInput } from './tensors/input-tensor.ts';
import type { OutputTensor } from './tensors/output-tensor.ts';

export interface TensorType {
  readonly datatype: Datatype;
  /** -1: any size. */
  readonly shape: readonly number[];
}

export interface ModelType {
  /** An optional property: a request may leave the input out. */
  readonly inputs: Readonly<Record<string, TensorType | undefined>>;
  readonly outputs: Readonly<Record<string, TensorType>>;
}

/** What the models of a client have to be: an interface or a type with one member for each. */
export type ModelTypes<Models> = { readonly [Name in keyof Models]: ModelType };

export interface AnyModel {
  readonly inputs: Readonly<Record<string, TensorType>>;
  readonly outputs: Readonly<Record<string, TensorType>>;
}
export type AnyModels = Readonly<Record<string, AnyModel>>;

/** What a program may give for the elements of a datatype. */
interface ArraysOf {
  BOOL: Uint8Array | readonly boolean[];
  UINT8: Uint8Array | Uint8ClampedArray | readonly number[];
  UINT16: Uint16Array | readonly number[];
  UINT32: Uint32Array | readonly number[];
  UINT64: BigUint64Array;
  INT8: Int8Array | readonly number[];
  INT16: Int16Array | readonly number[];
  INT32: Int32Array | readonly number[];
  INT64: BigInt64Array;
  FP16: Uint16Array;
  BF16: Uint16Array;
  FP32: Float32Array | readonly number[];
  FP64: Float64Array | readonly number[];
  BYTES: readonly (string | Uint8Array)[];
}

type AnyShapeLike<Shape extends readonly number[]> = { readonly [At in keyof Shape]: number };

export type InputOf<Type extends TensorType> = Datatype extends Type['datatype']
  ? ModelInput
  :
      | ArraysOf[Type['datatype']]
      | (Type['datatype'] extends 'BYTES' ? string | Blob : never)
      | (Omit<ShapedInput, 'data' | 'datatype' | 'shape'> & {
          readonly shape: AnyShapeLike<Type['shape']>;
          readonly data: ArraysOf[Type['datatype']];
          readonly datatype?: Type['datatype'];
        });

export type InputsOf<Model extends ModelType> = {
  readonly [Name in keyof Model['inputs']]: InputOf<NonNullable<Model['inputs'][Name]>>;
};
/**
 * An input of a stream: by name, as a text, or as bytes. The state of a model is the stream's, and metadata does not tell it
 * from the other inputs: each may be left out.
 */
export type StreamInputOf<Model extends ModelType> = string extends keyof Model['inputs']
  ? unknown
  : Partial<InputsOf<Model>> | string | Uint8Array | Blob;

/** Outputs of a stream by name. The state is not among them, and one that only ends an answer has none. */
export type StreamOutputsOf<Model extends ModelType> = string extends keyof Model['outputs']
  ? OutputsOf<Model>
  : Partial<OutputsOf<Model>>;

export type OutputsOf<Model extends ModelType> = {
  readonly [Name in keyof Model['outputs']]: OutputTensor<Model['outputs'][Name]['datatype']>;
};
