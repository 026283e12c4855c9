/**
 * How a journal lies in its table. A log has one head, found by its stream, and records: each holds the entries of one
 * commit. Records are keyed by their position in the whole journal, so that those of one commit lie side by side
 * whichever streams they belong to: lmdb copies and writes every page that a commit touches. What the index needs is in the key, so
 * that a start reads no record.
 */
import { crc32 } from 'node:zlib';
import type { IdleNote } from '../journal.ts';
import { StoreError } from '../store-error.ts';

/** Format of the rows; a later one is not read. Heads of format 1 have no tag. */
export const journalFormat = 2;

export interface RecordKey {
  /** Position in the whole journal. */
  readonly position: number;
  /** The log it belongs to: the epoch in which that was created, which no other log has. */
  readonly life: number;
  /** Number of its first entry; 0 for the snapshot of a trim. */
  readonly first: number;
  readonly count: number;
  /** Length of its value. */
  readonly bytes: number;
}

export interface LogHead {
  readonly life: number;
  readonly epoch: number;
  readonly owner: string;
  readonly base: number;
  /** Position of the record with the snapshot; 0: none. */
  readonly snapshot: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly tag: string;
  /** Of a log whose stream has ended. */
  readonly entriesExpireAtMs: number | undefined;
  /** Who it counts for; empty: nobody. */
  readonly account: string;
  /** Of a log whose stream has no client. */
  readonly idle: IdleNote | undefined;
}

/** No UTF-8 text has this byte, so records lie behind all rows with a name. */
const recordMark = 0xff;
const recordKeyBytes = 27;
/** Format, then the checksum of the value, with zeros in the place of the checksum. */
const valueHeadBytes = 5;
const lengthBytes = 4;

export const recordPrefix: Uint8Array = Uint8Array.of(recordMark);
export const headPrefix: Uint8Array = Buffer.from('log/');
export const notePrefix = 'note/';
export const lastEpochKey: Uint8Array = Buffer.from('last/epoch');

export function headKeyOf(stream: string): Buffer {
  return Buffer.from(`log/${stream}`);
}

export function streamFrom(headKey: Uint8Array): string {
  return Buffer.from(headKey.subarray(headPrefix.length)).toString();
}

const keyScratch = Buffer.allocUnsafe(recordKeyBytes);

/** Valid until the next call. */
export function lendRecordKey({ position, life, first, count, bytes }: RecordKey): Uint8Array {
  const key = keyScratch;
  key[0] = recordMark;
  key.writeUIntBE(position, 1, 6);
  key.writeUIntBE(life, 7, 6);
  key.writeUIntBE(first, 13, 6);
  key.writeUInt32BE(count, 19);
  key.writeUInt32BE(bytes, 23);
  return key;
}

export function recordKeyFrom(bytes: Uint8Array): RecordKey {
  if (bytes.length !== recordKeyBytes) throw damaged('the key of a record', `has ${bytes.length} bytes`);
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    position: key.readUIntBE(1, 6),
    life: key.readUIntBE(7, 6),
    first: key.readUIntBE(13, 6),
    count: key.readUInt32BE(19),
    bytes: key.readUInt32BE(23),
  };
}

/** Length of the value of a record with these entries. */
export function recordBytesOf(entries: readonly Uint8Array[]): number {
  let bytes = valueHeadBytes;
  for (const entry of entries) bytes += lengthBytes + entry.byteLength;
  return bytes;
}

let scratch = Buffer.allocUnsafe(64 * 1024);
const scratchKeptBytes = 1024 * 1024;

/** The value of a record; valid until the next call. */
export function lendRecord(key: RecordKey, entries: readonly Uint8Array[]): Uint8Array {
  const { bytes } = key;
  if (scratch.length < bytes || scratch.length > Math.max(bytes, scratchKeptBytes)) {
    scratch = Buffer.allocUnsafe(Math.max(bytes, 64 * 1024));
  }
  const value = scratch;
  let offset = valueHeadBytes;
  for (const entry of entries) {
    value.writeUInt32LE(entry.byteLength, offset);
    value.set(entry, offset + lengthBytes);
    offset += lengthBytes + entry.byteLength;
  }
  return sealed(seedOf(key), value.subarray(0, bytes));
}

/** The entries share the memory of `value`. */
export function entriesFrom(key: RecordKey, value: Uint8Array | undefined): readonly Uint8Array[] {
  const content = opened(seedOf(key), value, `the record at ${key.position}`);
  const entries: Uint8Array[] = [];
  let offset = 0;
  while (offset + lengthBytes <= content.length) {
    const end = offset + lengthBytes + content.readUInt32LE(offset);
    entries.push(content.subarray(offset + lengthBytes, end));
    offset = end;
  }
  // The checksum holds, so this was written so.
  if (offset !== content.length || entries.length !== key.count) {
    throw damaged(`the record at ${key.position}`, `has ${entries.length} entries instead of ${key.count}`);
  }
  return entries;
}

const headNumbers = 6;

export function headBytesOf(key: Uint8Array, head: LogHead): Uint8Array {
  // None of them has a NUL character. Those after the tag were added within format 2, whose first readers ignore them.
  const texts = Buffer.from(
    [head.owner, head.tag, head.entriesExpireAtMs ?? '', head.account, idleText(head.idle)].join('\0'),
  );
  const value = Buffer.allocUnsafe(valueHeadBytes + headNumbers * 8 + texts.length);
  const { life, epoch, base, snapshot, createdAtMs, expiresAtMs } = head;
  let offset = valueHeadBytes;
  for (const number of [life, epoch, base, snapshot, createdAtMs, expiresAtMs]) {
    offset = value.writeDoubleLE(number, offset);
  }
  value.set(texts, offset);
  return sealed(crc32(key), value);
}

export function headFrom(key: Uint8Array, value: Uint8Array | undefined): LogHead {
  const content = opened(crc32(key), value, `the head of ${JSON.stringify(streamFrom(key))}`);
  const [owner = '', tag = '', entriesExpireAt = '', account = '', idle = ''] = content
    .subarray(headNumbers * 8)
    .toString()
    .split('\0');
  return {
    life: content.readDoubleLE(0),
    epoch: content.readDoubleLE(8),
    base: content.readDoubleLE(16),
    snapshot: content.readDoubleLE(24),
    createdAtMs: content.readDoubleLE(32),
    expiresAtMs: content.readDoubleLE(40),
    owner,
    tag,
    entriesExpireAtMs: entriesExpireAt === '' ? undefined : Number(entriesExpireAt),
    account,
    idle: idle === '' ? undefined : { sinceMs: Number.parseFloat(idle), isExtended: idle.endsWith('+') },
  };
}

function idleText(idle: IdleNote | undefined): string {
  return idle === undefined ? '' : `${idle.sinceMs}${idle.isExtended ? '+' : ''}`;
}

/**
 * What the checksum begins with: the place of the record, so that a value that is found in another place is not whole. Not the
 * checksum of the key, which would cost as much as that of a small value.
 */
function seedOf({ position, life, first, count }: RecordKey): number {
  return (Math.imul(position, 31) ^ Math.imul(life, 0x9e37_79b1) ^ Math.imul(first, 0x85eb_ca77) ^ count) >>> 0;
}

function sealed(seed: number, value: Buffer): Uint8Array {
  value[0] = journalFormat;
  value.writeUInt32LE(0, 1);
  value.writeUInt32LE(crc32(value, seed), 1);
  return value;
}

/** What lies behind the head of a value, if it is whole. Changes the bytes, which are the caller's. */
function opened(seed: number, bytes: Uint8Array | undefined, what: string): Buffer {
  if (bytes === undefined) throw damaged(what, 'is missing');
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (value.length < valueHeadBytes) throw damaged(what, `has only ${value.length} bytes`);
  const checksum = value.readUInt32LE(1);
  value.writeUInt32LE(0, 1);
  if (checksum !== crc32(value, seed)) throw damaged(what, 'does not have its checksum');
  const format = value[0] as number;
  if (format > journalFormat) {
    const advice = 'use that Millrace again, or wait until the stream expires';
    throw new StoreError(
      'store-newer',
      `${what} has format ${format}, written by a later Millrace; this one supports up to ${journalFormat}: ${advice}`,
    );
  }
  return value.subarray(valueHeadBytes);
}

export function damaged(what: string, problem: string): StoreError {
  return new StoreError('journal-damaged', `the journal is damaged: ${what} ${problem}; its stream cannot be resumed`);
}
