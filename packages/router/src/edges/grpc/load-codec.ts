/** Messages that load a model. They bring files and may be large, but have few fields: reading takes time for each. */

import type { DescField, DescMessage, MessageShape } from '@bufbuild/protobuf';
import { type RequestCodec, RpcError } from '@millrace/http';
import { ProtoCursor, wireType } from '@millrace/protocol';
import { codecOf } from './message-codec.ts';

/** Fields of a load with those of the messages in it: twice what the most files that a load may bring have. */
export const loadFieldsMax = 8192;

export function loadCodecOf<Schema extends DescMessage>(schema: Schema): RequestCodec<MessageShape<Schema>> {
  const codec = codecOf(schema, Number.POSITIVE_INFINITY);
  return {
    ...codec,
    fromProto: (bytes) => {
      checkFieldCount(schema, bytes);
      return codec.fromProto(bytes);
    },
  };
}

/** A message, or the map of an entry. */
type FieldParent = DescMessage | DescField;

function checkFieldCount(schema: DescMessage, bytes: Uint8Array): void {
  const cursor = new ProtoCursor(bytes);
  let fields = 0;
  const walk = (parent: FieldParent): void => {
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      fields += 1;
      if (fields > loadFieldsMax) {
        throw new RpcError(
          'resource_exhausted',
          `the message has more than ${loadFieldsMax} fields; send fewer files, or put the model into the repository`,
        );
      }
      const child = (tag & 7) === wireType.delimited ? parentWithin(parent, tag >>> 3) : undefined;
      if (child === undefined) cursor.skip(tag);
      else {
        const stop = cursor.readLength();
        const { end } = cursor;
        cursor.end = stop;
        walk(child);
        cursor.end = end;
      }
    }
  };
  walk(schema);
}

/** The descriptor of a field that has fields of its own; undefined for plain values. */
function parentWithin(parent: FieldParent, number: number): FieldParent | undefined {
  // An entry of a map has its key as field 1 and its value as field 2.
  if (parent.kind === 'field') return number === 2 ? parent.message : undefined;
  const field = parent.fields.find((one) => one.number === number);
  return field?.fieldKind === 'map' ? field : field?.message;
}
