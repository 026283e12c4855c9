import { create, toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type { DataPlane } from '../../data-plane/infer.ts';
import { ModelInferRequestSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { InferMessageReader } from './infer-message.ts';
import { placeMessageFor, takeFirstRawTensor } from './place-message.ts';

const reader = new InferMessageReader({
  inputsMax: 10,
  outputsMax: 10,
  dimensionsMax: 10,
  parametersMax: 10,
  nameBytesMax: 100,
  parameterBytesMax: 100,
});

function messageOf(...raw: readonly Uint8Array[]): Uint8Array {
  return toBinary(
    ModelInferRequestSchema,
    create(ModelInferRequestSchema, {
      modelName: 'näme',
      modelVersion: '3',
      id: 'x',
      parameters: { priority: { parameterChoice: { case: 'uint64Param', value: 2n } } },
      inputs: raw.map((_, index) => ({ name: `in${index}`, datatype: 'UINT8', shape: [1n, 4n] })),
      outputs: [{ name: 'out' }],
      rawInputContents: [...raw],
    }),
  );
}

const tensor = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);

test('the first raw tensor is found as soon as the fields before it and its length have come', () => {
  const message = messageOf(tensor, tensor);
  const found = takeFirstRawTensor(message, message.length);
  expect([found?.modelName, found?.modelVersion, found?.bytes]).toEqual(['näme', '3', 100_000]);
  const at = found?.at as number;
  expect([...message.subarray(at, at + 4)]).toEqual([0, 1, 2, 3]);
  for (let bytes = 0; bytes < at; bytes++)
    expect(takeFirstRawTensor(message.subarray(0, bytes), message.length)).toBeUndefined();
  expect(takeFirstRawTensor(message.subarray(0, at), message.length)).toEqual(found);
});

test('a message that was placed is read as the same message in one piece', () => {
  const short = tensor.subarray(0, 300);
  const cases: readonly (readonly Uint8Array[])[] = [
    [short],
    [short, short.subarray(7)],
    [short.subarray(0, 10), short],
  ];
  for (const raw of cases) {
    const message = messageOf(...raw);
    const at = takeFirstRawTensor(message, message.length)?.at as number;
    expect(reader.read(message.subarray(0, at), message.subarray(at))).toEqual(reader.read(message));
  }
  const message = messageOf(tensor);
  expect(() => reader.read(message.subarray(0, 5), message.subarray(5))).toThrow('no raw tensor behind its head');
});

test('messages without raw tensors, or whose tensor is longer than they are, are not placed', () => {
  expect(takeFirstRawTensor(messageOf(), 1000)).toBeUndefined();
  expect(takeFirstRawTensor(Uint8Array.of(0x3b), 1000)).toBeUndefined();
  const message = messageOf(tensor);
  expect(takeFirstRawTensor(message, message.length - 1)).toBeUndefined();
  expect(takeFirstRawTensor(new Uint8Array(70_000).fill(0x10), 70_000)).toBeUndefined();
});

test('large tensors are received in memory for the inputs of their model, small ones anywhere', () => {
  const asked: string[] = [];
  const dataPlane: Pick<DataPlane, 'inputMemory'> = {
    inputMemory: (model, version) => {
      asked.push(`${model} ${version}`);
      return { lend: (bytes) => ({ bytes: new Uint8Array(bytes), release: () => {} }) };
    },
  };
  const place = placeMessageFor(dataPlane);
  const message = messageOf(tensor);
  const placement = place(message.subarray(0, 1000), message.length);
  expect(placement?.headBytes).toBe(message.length - tensor.length);
  expect(placement?.lend(10)?.bytes).toHaveLength(10);
  expect(place(messageOf(tensor.subarray(0, 60_000)), 60_100)).toBeUndefined();
  expect(asked).toEqual(['näme 3']);
  expect(placeMessageFor({})(message, message.length)).toBeUndefined();
});
