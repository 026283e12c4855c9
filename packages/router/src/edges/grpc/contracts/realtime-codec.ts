/** Reads requests of `realtime.inference`: the payload may be large, everything else is read at once and is small. */
import type { RequestCodec } from '@millrace/http';
import { InferenceError, ProtoCursor, wireType } from '@millrace/protocol';
import {
  type InferenceRequest,
  InferenceRequestSchema,
} from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { defaultStreamFrameLimits } from '../../streams/frame-limits.ts';
import { codecOf } from '../message-codec.ts';

/** Of a message without its payload. */
export const realtimeHeadBytesMax = 64 * 1024;
/** Of a message: each entry of its metadata is one. */
export const realtimeFieldsMax = 128;

const payloadTag = (3 << 3) | wireType.delimited;

export function realtimeRequestCodec(): RequestCodec<InferenceRequest> {
  const { fromProto, fromJson, ...rest } = codecOf(InferenceRequestSchema, defaultStreamFrameLimits.frameBytesMax);
  return {
    ...rest,
    fromProto: (bytes) => {
      checkHead(bytes);
      return fromProto(bytes);
    },
    fromJson: (bytes) => {
      const message = (fromJson as NonNullable<typeof fromJson>)(bytes);
      checkCount(Object.keys(message.metadata).length);
      return message;
    },
  };
}

/** Before anything of it is kept: a message of tiny entries takes a hundred times its size, and seconds. */
function checkHead(bytes: Uint8Array): void {
  const cursor = new ProtoCursor(bytes);
  let payloadBytes = 0;
  let fields = 0;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    const from = cursor.at;
    cursor.skip(tag);
    fields += 1;
    checkCount(fields);
    if (tag === payloadTag) payloadBytes += cursor.at - from;
  }
  const headBytes = bytes.length - payloadBytes;
  if (headBytes <= realtimeHeadBytesMax) return;
  throw new InferenceError(
    'request-too-large',
    `the message has ${headBytes} bytes beside its payload, more than the ${realtimeHeadBytesMax} allowed; send less metadata`,
  );
}

function checkCount(fields: number): void {
  if (fields <= realtimeFieldsMax) return;
  throw new InferenceError(
    'request-too-large',
    `the message has more than ${realtimeFieldsMax} fields and entries of metadata; send fewer`,
  );
}
