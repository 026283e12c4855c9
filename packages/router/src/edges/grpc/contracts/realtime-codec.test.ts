import { create, toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { InferenceRequestSchema } from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { realtimeFieldsMax, realtimeHeadBytesMax, realtimeRequestCodec } from './realtime-codec.ts';

const codec = realtimeRequestCodec();

function entries(count: number, value = ''): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
}

test('a large payload beside small metadata is read', () => {
  const payload = new Uint8Array(1_000_000).fill(7);
  const message = create(InferenceRequestSchema, { contextId: 'm', payload, metadata: entries(100) });
  const read = codec.fromProto(toBinary(InferenceRequestSchema, message));
  expect([read.contextId, Object.keys(read.metadata).length]).toEqual(['m', 100]);
  expect(Buffer.compare(read.payload, payload)).toBe(0);
});

test('more than realtimeFieldsMax entries of metadata are refused, as protobuf before they are read', () => {
  const message = create(InferenceRequestSchema, { metadata: entries(realtimeFieldsMax + 1) });
  const refusal = /more than 128 fields and entries of metadata; send fewer/;
  expect(() => codec.fromProto(toBinary(InferenceRequestSchema, message))).toThrow(refusal);
  const json = new TextEncoder().encode(JSON.stringify({ metadata: message.metadata }));
  expect(() => codec.fromJson?.(json)).toThrow(refusal);
  // Unknown and repeated fields take time as well.
  const empty = Buffer.concat(Array.from({ length: 200 }, () => Buffer.of((9 << 3) | 2, 0)));
  expect(() => codec.fromProto(empty)).toThrow(refusal);
});

test('more than realtimeHeadBytesMax beside the payload are refused', () => {
  const metadata = { note: 'a'.repeat(realtimeHeadBytesMax) };
  const message = create(InferenceRequestSchema, { metadata, payload: new Uint8Array(10) });
  expect(() => codec.fromProto(toBinary(InferenceRequestSchema, message))).toThrow(
    /bytes beside its payload, more than the 65536 allowed/,
  );
});
