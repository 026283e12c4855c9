/** Has large ModelInfer messages received so that their raw tensors lie where a worker of the model reads them. */
import type { PlaceMessage } from '@millrace/http';
import { MalformedMessage, ProtoCursor, wireType } from '@millrace/protocol';
import { arrivingBytesMin } from '../../data-plane/arriving-inputs.ts';
import type { DataPlane } from '../../data-plane/infer.ts';

const modelNameTag = (1 << 3) | wireType.delimited;
const modelVersionTag = (2 << 3) | wireType.delimited;
const rawInputContentsTag = (7 << 3) | wireType.delimited;
/** A message with more before its tensors is received like any other. */
const fieldsMax = 256;
const noBytes = new Uint8Array(0);

/** Where the first raw tensor of a message is. */
export interface FirstRawTensor {
  readonly modelName: string;
  readonly modelVersion: string;
  /** Where its field begins, and its bytes. */
  readonly fieldAt: number;
  readonly at: number;
  readonly bytes: number;
}

/** Undefined: it is not among the first bytes, or the message has none; a message that is malformed is read as a whole. */
export function takeFirstRawTensor(first: Uint8Array, messageBytes: number): FirstRawTensor | undefined {
  const cursor = new ProtoCursor(first);
  cursor.fieldsLeft = fieldsMax;
  let name: Uint8Array = noBytes;
  let version: Uint8Array = noBytes;
  try {
    for (;;) {
      const fieldAt = cursor.at;
      const tag = cursor.nextTag();
      if (tag === 0) return undefined;
      if (tag === rawInputContentsTag) {
        const bytes = cursor.readUint64();
        const { at } = cursor;
        if (at + bytes > messageBytes) return undefined;
        return { modelName: textOf(name), modelVersion: textOf(version), fieldAt, at, bytes };
      }
      if (tag === modelNameTag) name = cursor.readBytes();
      else if (tag === modelVersionTag) version = cursor.readBytes();
      else cursor.skip(tag);
    }
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

export function placeMessageFor(dataPlane: Pick<DataPlane, 'inputMemory'>): PlaceMessage {
  return (first, messageBytes) => {
    const tensor = takeFirstRawTensor(first, messageBytes);
    if (tensor === undefined || tensor.bytes < arrivingBytesMin) return undefined;
    const memory = dataPlane.inputMemory?.(tensor.modelName, tensor.modelVersion);
    return memory && { headBytes: tensor.at, lend: (bytes) => memory.lend(bytes) };
  };
}
