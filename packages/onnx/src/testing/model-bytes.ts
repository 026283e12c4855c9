/** Writes model files for tests, field by field, so that each test can say exactly what is in them. */
import { delimitedHead, varint } from '@millrace/protocol';

/** A field: a number as a varint, text or bytes or further fields with their length. */
export function field(
  number: number,
  value: number | bigint | string | Uint8Array | readonly Uint8Array[],
): Uint8Array {
  if (typeof value === 'number' || typeof value === 'bigint')
    return Buffer.concat([varint(number << 3), varint(value)]);
  const content =
    typeof value === 'string' ? Buffer.from(value) : value instanceof Uint8Array ? value : Buffer.concat(value);
  return Buffer.concat([delimitedHead(number, content.length), content]);
}

export type TestShape = readonly (number | string)[];

export function tensorInfo(name: string, elementType: number, shape: TestShape | undefined): Uint8Array {
  const dims = (shape ?? []).map((size) => field(1, [typeof size === 'number' ? field(1, size) : field(2, size)]));
  const type = [field(1, elementType), ...(shape === undefined ? [] : [field(2, dims)])];
  return Buffer.concat([field(1, name), field(2, [field(1, type)])]);
}

export interface TestModel {
  readonly inputs?: readonly Uint8Array[];
  readonly outputs?: readonly Uint8Array[];
  /** Further fields of the graph, for instance initializers. */
  readonly graphFields?: readonly Uint8Array[];
  /** Further fields of the model, for instance metadata. */
  readonly modelFields?: readonly Uint8Array[];
  readonly irVersion?: number;
}

export function modelBytes(model: TestModel = {}): Uint8Array {
  const { inputs, outputs, graphFields = [], modelFields = [], irVersion = 10 } = model;
  const graph = [
    field(1, [field(1, 'x'), field(2, 'y'), field(4, 'Identity')]),
    field(2, 'test-graph'),
    ...graphFields,
    ...(inputs ?? [tensorInfo('x', 1, ['batch', 4])]).map((info) => field(11, info)),
    ...(outputs ?? [tensorInfo('y', 1, ['batch', 4])]).map((info) => field(12, info)),
  ];
  const opset = field(8, [field(1, ''), field(2, 21)]);
  return Buffer.concat([field(1, irVersion), field(2, 'tests'), field(7, graph), opset, ...modelFields]);
}
