import type { RequestCodec, ResponseCodec } from '@millrace/http';
import { delimitedHead } from '@millrace/protocol';

/** `Note` by hand: one text in field 1. */
export const noteCodec: RequestCodec<string> & ResponseCodec<string> = {
  fromProto: (bytes) => {
    const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (message.length === 0) return '';
    if (message[0] !== 0x0a) throw new Error('a note has one field');
    let length = 0;
    let at = 1;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) throw new Error('a note ends early');
      length |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    if (at + length !== message.length) throw new Error('a note is as long as it says');
    return message.toString('utf8', at);
  },
  fromJson: (bytes) => {
    const { text } = JSON.parse(Buffer.from(bytes).toString()) as { readonly text?: string };
    return text ?? '';
  },
  toJson: (text) => Buffer.from(JSON.stringify({ text })),
  toProto: (text) => {
    if (text === '') return [];
    const bytes = Buffer.from(text);
    return [delimitedHead(1, bytes.length), bytes];
  },
};
