/**
 * Answers that grow with the number of models, made a part at a time. Concatenated protobuf messages are
 * one message with the elements of all of them, so parts are never joined.
 */
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import type { ResponseCodec } from '@millrace/http';
import type { SliceGenerator } from '../slices/slice-queue.ts';

/** The parts of a message, in order, each in protobuf's binary form. */
export type MessageParts = readonly Uint8Array[];

/** Encodes the message of all items in slices of a number of items. */
export function* encodeInParts<Schema extends DescMessage, Item>(
  schema: Schema,
  items: readonly Item[],
  itemsPerPart: number,
  partOf: (items: readonly Item[]) => MessageInitShape<Schema>,
): SliceGenerator<MessageParts> {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < items.length; at += itemsPerPart) {
    parts.push(toBinary(schema, create(schema, partOf(items.slice(at, at + itemsPerPart)))));
    yield;
  }
  return parts;
}

/** JSON cannot be written in parts: for JSON callers the message is decoded again and written at once. */
export function partsCodec(schema: DescMessage): ResponseCodec<MessageParts> {
  return {
    toProto: (parts) => parts,
    toJson: (parts) => Buffer.from(JSON.stringify(toJson(schema, fromBinary(schema, Buffer.concat(parts))))),
  };
}
