/**
 * Reads field lines of a head or of trailers (RFC 9112, 5) strictly: whatever two parsers could read differently is
 * refused.
 */
import { fieldKindOf, HeaderField, hpackEntryOverheadBytes, tokenBytes } from '@millrace/http2';
import type { HttpLimits } from '../wire/config.ts';
import { Http1Refusal } from './refusal.ts';

const carriageReturn = 13;
const lineFeed = 10;
const colon = 58;

/** Maps spellings seen on the wire to the lower-case name; saves lower-casing and shares the string. */
const knownNames = new Map<string, string>();
for (const name of [
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'expect',
  'host',
  'inference-header-content-length',
  'origin',
  'referer',
  'te',
  'trailer',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'x-request-id',
]) {
  knownNames.set(name, name);
  knownNames.set(
    name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    name,
  );
}

/**
 * Reads the lines in `bytes[start, end)`, each ending in CRLF, and appends their fields. `text` holds the same bytes
 * as Latin-1, beginning at `textStart`.
 */
export function readFieldLines(
  bytes: Uint8Array,
  start: number,
  end: number,
  text: string,
  textStart: number,
  into: HeaderField[],
  limits: HttpLimits,
): Http1Refusal | undefined {
  let at = start;
  const { headerListBytesMax, headerFieldsMax } = limits;
  let listBytes = 0;
  while (at < end) {
    const nameStart = at;
    while ((tokenBytes[bytes[at] as number] as number) > 0) at++;
    if (bytes[at] !== colon || at === nameStart) return badName(bytes, nameStart, at);
    const rawName = text.slice(nameStart - textStart, at - textStart);
    at++;
    while (bytes[at] === 32 || bytes[at] === 9) at++;
    const valueStart = at;
    let byte = bytes[at] as number;
    while ((byte >= 32 && byte !== 127) || byte === 9) byte = bytes[++at] as number;
    if (byte !== carriageReturn || bytes[at + 1] !== lineFeed) {
      return new Http1Refusal(400, 'a field value contains a control character; remove it');
    }
    let valueEnd = at;
    while (valueEnd > valueStart && (bytes[valueEnd - 1] === 32 || bytes[valueEnd - 1] === 9)) valueEnd--;
    at += 2;
    const name = knownNames.get(rawName) ?? rawName.toLowerCase();
    const value = text.slice(valueStart - textStart, valueEnd - textStart);
    into.push(new HeaderField(name, value, fieldKindOf(name), true));
    listBytes += name.length + value.length + hpackEntryOverheadBytes;
    if (listBytes > headerListBytesMax) {
      return new Http1Refusal(
        431,
        `the header fields take more than ${headerListBytesMax} bytes; send fewer or shorter ones`,
      );
    }
    if (into.length > headerFieldsMax)
      return new Http1Refusal(431, `there are more than ${headerFieldsMax} header fields; send fewer`);
  }
  return undefined;
}

function badName(bytes: Uint8Array, start: number, at: number): Http1Refusal {
  if (at === start && (bytes[at] === 32 || bytes[at] === 9)) {
    return new Http1Refusal(400, 'a field line begins with white space; send each field on one line');
  }
  if (at > start && (bytes[at] === 32 || bytes[at] === 9)) {
    return new Http1Refusal(400, 'there is white space before the colon of a field; remove it');
  }
  return new Http1Refusal(
    400,
    'a field name is empty or contains an invalid character; use letters, digits and hyphens',
  );
}
