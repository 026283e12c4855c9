/**
 * The file of lmdb, looked at before lmdb opens it. lmdb maps it into memory, and where pages are missing the system ends
 * the whole process, without a word.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const dataFile = 'data.mdb';

/** The first two pages say what the others are; the one that was written last counts. Offsets are from a page's start. */
const magicOffset = 24;
const magic = 0xbeefc0de;
const lmdbVersion = 2;
const pageBytesOffset = 48;
const lastPageOffset = 144;
const changeOffset = 152;
const headBytes = 160;
const pageBytesMin = 4096;
const pageBytesMax = 65_536;

/** A copy of the file is read within this time, or it is taken to be damaged. */
const tryMsMax = 60_000;

/** Whether lmdb can be given the file, which has something in it. */
export function isWholeDataFile(path: string, temporaryFolder: string): boolean {
  const fileBytes = statSync(path).size;
  const bytesExpected = bytesExpectedOf(path, fileBytes);
  if (bytesExpected === undefined) return false;
  // lmdb does not write pages at the end that were used and freed within one change, so a shorter file may be whole.
  return fileBytes >= bytesExpected || isReadable(path, temporaryFolder);
}

/** How long the file is if all of its pages are there; undefined when it is not lmdb's. */
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

/** Reads all of a copy and writes to it, in a process that is there for nothing else and may be ended. */
function isReadable(path: string, temporaryFolder: string): boolean {
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
