import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { delimitedHead } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { RepositoryModelLoadRequestSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { RepositoryLoadRequestSchema } from '../../proto/generated/millrace/v1/management_pb.ts';
import { loadFilesMax } from '../repository/load-overrides.ts';
import { loadCodecOf, loadFieldsMax } from './load-codec.ts';

const content = new Uint8Array([1, 2, 3]);
const named = <Value>(value: Value): Record<string, Value> =>
  Object.fromEntries(Array.from({ length: loadFilesMax }, (_, at) => [`file:1/${at}`, value]));

function read<Schema extends DescMessage>(schema: Schema, init: MessageInitShape<Schema>) {
  return loadCodecOf(schema).fromProto(toBinary(schema, create(schema, init)));
}

test('as many files as a load may bring are read, by both services', () => {
  const parameter = { parameterChoice: { case: 'bytesParam', value: content } } as const;
  const triton = read(RepositoryModelLoadRequestSchema, { modelName: 'm', parameters: named(parameter) });
  expect(Object.keys(triton.parameters)).toHaveLength(loadFilesMax);
  const own = read(RepositoryLoadRequestSchema, { model: 'm', config: '{}', files: named(content) });
  expect(Object.keys(own.files)).toHaveLength(loadFilesMax);
});

test('the bytes of a file are not scanned for fields', () => {
  const file = new Uint8Array(100_000).fill(8);
  expect(read(RepositoryLoadRequestSchema, { model: 'm', files: { a: file } }).files.a).toEqual(file);
});

/** A field of this number around these bytes. */
function field(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([delimitedHead(number, bytes.length), bytes]);
}

const many = (make: () => Buffer): Buffer[] => Array.from({ length: loadFieldsMax + 1 }, make);

describe('more fields than loadFieldsMax are refused', () => {
  test.each([
    ['at the top', Buffer.concat(many(() => field(2)))],
    ['as parameters', Buffer.concat(many(() => field(3)))],
    ['unknown ones', Buffer.concat(many(() => field(9)))],
    ['within one parameter', field(3, ...many(() => field(1)))],
    ['within the value of one parameter', field(3, field(2, ...many(() => field(4))))],
  ])('%s', (_, bytes) => {
    expect(() => loadCodecOf(RepositoryModelLoadRequestSchema).fromProto(bytes)).toThrow(
      expect.objectContaining({
        code: 'resource_exhausted',
        message: expect.stringContaining(`more than ${loadFieldsMax} fields`) as string,
      }) as Error,
    );
  });
});

test.each([
  ['a field that is longer than its message', Buffer.from([0x1a, 5, 0])],
  ['an entry that is longer than the message', Buffer.from([0x1a, 2, 0x0a, 9])],
])('%s is refused', (_, bytes) => {
  expect(() => loadCodecOf(RepositoryModelLoadRequestSchema).fromProto(bytes)).toThrow(/not valid protobuf/);
});
