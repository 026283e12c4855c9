/**
 * Checks the file of lmdb before lmdb opens it. lmdb maps it into memory, and where pages are missing the system kills
 * the whole process without a message.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const dataFile = 'data.mdb';

/** The first two pages describe the others; the one that was written last counts. Offsets are from a page's start. */
const magicOffset = 24;
const magic = 0xbeefc0de;
const lmdbVersion = 2;
const pageBytesOffset = 48;
const lastPageOffset = 144;
const changeOffset = 152;
const headBytes = 160;
const pageBytesMin = 4096;
const pageBytesMax = 65_536;

/** A copy of the file must be read within this time, or it counts as damaged. */
const tryMsMax = 60_000;

/** Whether lmdb can open the file, which is not empty. */
export function isWholeDataFile(path: string, temporaryFolder: string): boolean {
  const fileBytes = statSync(path).size;
  const bytesExpected = bytesExpectedOf(path, fileBytes);
  if (bytesExpected === undefined) return false;
  // lmdb does not write pages at the end that were used and freed within one change, so a shorter file may be complete.
  return fileBytes >= bytesExpected || isReadableDataFile(path, temporaryFolder);
}

/** The length of the file if all of its pages are present; undefined when it is not a file of lmdb. */
function bytesExpectedOf(path: string, fileBytes: number): number | undefined {
  const file = openSync(path, 'r');
  try {
    const first = headAt(file, 0);
    const pageBytes = first?.readUInt32LE(pageBytesOffset) ?? 0;
    if (first === undefined || pageBytes < pageBytesMin || pageBytes > pageBytesMax) return undefined;
    if (fileBytes < 2 * pageBytes) return undefined;
    const second = headAt(file, pageBytes);
    const latest = second !== undefined && changeOf(second) > changeOf(first) ? second : first;
    return (Number(latest.readBigUInt64LE(lastPageOffset)) + 1) * pageBytes;
  } finally {
    closeSync(file);
  }
}

function headAt(file: number, position: number): Buffer | undefined {
  const head = Buffer.alloc(headBytes);
  readSync(file, head, 0, head.length, position);
  const isLmdb = head.readUInt32LE(magicOffset) === magic && head.readUInt32LE(magicOffset + 4) === lmdbVersion;
  return isLmdb ? head : undefined;
}

function changeOf(head: Buffer): bigint {
  return head.readBigUInt64LE(changeOffset);
}

/** Reads all of a copy and writes to it, in a separate process that may crash. */
export function isReadableDataFile(path: string, temporaryFolder: string): boolean {
  const folder = mkdtempSync(join(temporaryFolder, 'millrace-store-'));
  try {
    copyFileSync(path, join(folder, dataFile));
    const lmdb = createRequire(import.meta.url).resolve('lmdb');
    const { status } = spawnSync(process.execPath, ['--eval', tryProgram(lmdb, folder)], {
      stdio: 'ignore',
      env: { TMPDIR: folder },
      timeout: tryMsMax,
    });
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function tryProgram(lmdb: string, folder: string): string {
  return `
    const { open } = require(${JSON.stringify(lmdb)});
    const database = open(${JSON.stringify(folder)}, { noSubdir: false, encoding: 'binary', keyEncoding: 'binary' });
    for (const { value } of database.getRange()) Buffer.from(value);
    database.put(Buffer.from('try'), Buffer.alloc(65536)).then(() => database.close());`;
}
