/** `ModelInferRequest` as bytes, written by hand: large ones without a copy of a library in between. */
import { delimitedHead, varint } from '@millrace/protocol';

export interface RawInferMessage {
  readonly model: string;
  readonly version?: string;
  readonly id?: string;
  readonly inputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
  readonly raw: readonly Uint8Array[];
  /** Names of outputs, each with so many classes. */
  readonly classified?: readonly { readonly name: string; readonly classes: number }[];
  readonly sequence?: { readonly id: number; readonly isStart: boolean; readonly isEnd: boolean };
}

export const inferMethod = '/inference.GRPCInferenceService/ModelInfer';
export const streamMethod = '/inference.GRPCInferenceService/ModelStreamInfer';

/** A field of bytes, text or a message. */
export function messageField(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([delimitedHead(number, bytes.length), bytes]);
}

export const integerField = (number: number, value: number): Buffer =>
  Buffer.concat([varint(number << 3), varint(value)]);

const parameter = (name: string, value: Buffer): Buffer =>
  Buffer.concat([messageField(1, name), messageField(2, value)]);

export function inferMessage(message: RawInferMessage): Buffer {
  const parts: Buffer[] = [messageField(1, message.model)];
  if (message.version !== undefined) parts.push(messageField(2, message.version));
  if (message.id !== undefined) parts.push(messageField(3, message.id));
  if (message.sequence !== undefined) {
    const { id, isStart, isEnd } = message.sequence;
    parts.push(messageField(4, parameter('sequence_id', integerField(2, id))));
    parts.push(messageField(4, parameter('sequence_start', integerField(1, isStart ? 1 : 0))));
    parts.push(messageField(4, parameter('sequence_end', integerField(1, isEnd ? 1 : 0))));
  }
  for (const { name, datatype, shape } of message.inputs) {
    parts.push(
      messageField(
        5,
        Buffer.concat([
          messageField(1, name),
          messageField(2, datatype),
          messageField(3, Buffer.concat(shape.map(varint))),
        ]),
      ),
    );
  }
  for (const { name, classes } of message.classified ?? []) {
    parts.push(
      messageField(
        6,
        Buffer.concat([messageField(1, name), messageField(2, parameter('classification', integerField(2, classes)))]),
      ),
    );
  }
  for (const raw of message.raw) parts.push(messageField(7, raw));
  return Buffer.concat(parts);
}

/** With the five bytes before it: not compressed, or so marked. */
export function envelope(message: Uint8Array, isCompressed = false): Buffer {
  return Buffer.concat([announcement(message.length, isCompressed), message]);
}

/** Only what announces a message of this size. */
export function announcement(bytes: number, isCompressed = false): Buffer {
  const head = Buffer.alloc(5);
  head[0] = isCompressed ? 1 : 0;
  head.writeUInt32BE(bytes, 1);
  return head;
}
