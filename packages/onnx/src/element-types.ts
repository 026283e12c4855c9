import type { Datatype } from '@millrace/protocol';

/** ONNX's numbers for element types: the name of each, and the wire datatype if ONNX Runtime in Node supports it. */
const elementTypes: ReadonlyMap<number, { readonly name: string; readonly datatype?: Datatype }> = new Map([
  [1, { name: 'FLOAT', datatype: 'FP32' }],
  [2, { name: 'UINT8', datatype: 'UINT8' }],
  [3, { name: 'INT8', datatype: 'INT8' }],
  [4, { name: 'UINT16', datatype: 'UINT16' }],
  [5, { name: 'INT16', datatype: 'INT16' }],
  [6, { name: 'INT32', datatype: 'INT32' }],
  [7, { name: 'INT64', datatype: 'INT64' }],
  [8, { name: 'STRING', datatype: 'BYTES' }],
  [9, { name: 'BOOL', datatype: 'BOOL' }],
  [10, { name: 'FLOAT16', datatype: 'FP16' }],
  [11, { name: 'DOUBLE', datatype: 'FP64' }],
  [12, { name: 'UINT32', datatype: 'UINT32' }],
  [13, { name: 'UINT64', datatype: 'UINT64' }],
  [14, { name: 'COMPLEX64' }],
  [15, { name: 'COMPLEX128' }],
  [16, { name: 'BFLOAT16' }],
  [17, { name: 'FLOAT8E4M3FN' }],
  [18, { name: 'FLOAT8E4M3FNUZ' }],
  [19, { name: 'FLOAT8E5M2' }],
  [20, { name: 'FLOAT8E5M2FNUZ' }],
  [21, { name: 'UINT4' }],
  [22, { name: 'INT4' }],
  [23, { name: 'FLOAT4E2M1' }],
  [24, { name: 'FLOAT8E8M0' }],
  [25, { name: 'UINT2' }],
  [26, { name: 'INT2' }],
  [27, { name: 'FLOAT6E2M3' }],
  [28, { name: 'FLOAT6E3M2' }],
]);

export function datatypeFromElementType(elementType: number): Datatype | undefined {
  return elementTypes.get(elementType)?.datatype;
}

/** Undefined for datatypes that ONNX Runtime in Node does not support. */
export function elementTypeOf(datatype: Datatype): number | undefined {
  for (const [elementType, known] of elementTypes) if (known.datatype === datatype) return elementType;
  return undefined;
}

export function elementTypeName(elementType: number): string {
  return elementTypes.get(elementType)?.name ?? `number ${elementType}`;
}
