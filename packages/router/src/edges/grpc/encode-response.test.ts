/** The hand-written writer against the generated one, byte for byte. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Datatype, Tensor } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ModelInferResponseSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { encodeResponse, type InferResponse } from './encode-response.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const dimension = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 2 ** 40 }), fc.maxSafeNat());
const size = fc.oneof(fc.nat(20), fc.integer({ min: 4090, max: 4100 }), fc.constant(70_000));
const tensor: fc.Arbitrary<Tensor> = fc.record({
  name: text,
  datatype: fc.constantFrom<Datatype>('FP32', 'BYTES', 'INT64'),
  shape: fc.array(dimension, { maxLength: 40 }),
  data: size.map((bytes) => new Uint8Array(bytes).fill(bytes & 255)),
});
const response: fc.Arbitrary<InferResponse> = fc.record({
  model: text,
  version: text,
  id: text,
  outputs: fc.array(tensor, { maxLength: 4 }),
});

const generated = ({ model, version, id, outputs }: InferResponse): Uint8Array =>
  toBinary(
    ModelInferResponseSchema,
    create(ModelInferResponseSchema, {
      modelName: model,
      modelVersion: version,
      id,
      outputs: outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(BigInt) })),
      rawOutputContents: outputs.map(({ data }) => data),
    }),
  );

test('writes every message as the generated code does', () => {
  fc.assert(
    fc.property(response, (message) => {
      const written = Buffer.concat(encodeResponse(message));
      expect(written.equals(generated(message))).toBe(true);
    }),
    { seed: 5, numRuns: 300 },
  );
});

test('the generated code reads back what is written', () => {
  const data = new Uint8Array(new Float32Array([1, 2]).buffer);
  const outputs: Tensor[] = [
    { name: 'a', datatype: 'FP32', shape: [1, 2], data },
    { name: 'empty', datatype: 'BYTES', shape: [0], data: new Uint8Array(0) },
  ];
  const read = fromBinary(
    ModelInferResponseSchema,
    Buffer.concat(encodeResponse({ model: 'm', version: '1', id: '', outputs })),
  );
  expect(read.outputs.map(({ name, shape }) => [name, shape])).toEqual([
    ['a', [1n, 2n]],
    ['empty', [0n]],
  ]);
  expect(read.rawOutputContents.map((one) => one.length)).toEqual([8, 0]);
});

test('large tensors are not copied, small ones are', () => {
  const large = new Uint8Array(5000);
  const small = new Uint8Array(100);
  const tensorOf = (data: Uint8Array): Tensor => ({ name: 't', datatype: 'UINT8', shape: [data.length], data });
  const pieces = encodeResponse({
    model: 'm',
    version: '1',
    id: '',
    outputs: [tensorOf(small), tensorOf(large), tensorOf(small)],
  });
  expect(pieces).toHaveLength(3);
  expect(pieces[1]).toBe(large);
  expect(encodeResponse({ model: 'm', version: '1', id: '', outputs: [tensorOf(small)] })).toHaveLength(1);
});

test('an empty answer has no bytes', () => {
  expect(Buffer.concat(encodeResponse({ model: '', version: '', id: '', outputs: [] }))).toHaveLength(0);
});
