import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LeanSocket } from './lean-socket.ts';

let folder: string;
let server: Server;
let near: Socket;
let far: Socket;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-lean-'));
  const path = join(folder, 'socket');
  const accepted = new Promise<Socket>((resolve) => {
    server = createServer(resolve);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  near = connect(path);
  near.on('error', () => {});
  await new Promise((resolve) => near.once('connect', resolve));
  far = await accepted;
  far.on('error', () => {});
});

afterEach(async () => {
  near.destroy();
  far.destroy();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

test('what is read is whole, in order, and stays as it was when more is read', async () => {
  const chunks: Uint8Array[] = [];
  const copies: Buffer[] = [];
  const bytes = Buffer.alloc(300_000).map((_, index) => index % 251);
  const all = new Promise<void>((resolve) => {
    let count = 0;
    new LeanSocket(near, (chunk) => {
      chunks.push(chunk);
      copies.push(Buffer.from(chunk));
      count += chunk.length;
      if (count === bytes.length) resolve();
    });
  });
  for (let at = 0; at < bytes.length; at += 7919) far.write(bytes.subarray(at, at + 7919));
  await all;
  expect(Buffer.concat(chunks)).toEqual(bytes);
  expect(Buffer.concat(chunks)).toEqual(Buffer.concat(copies));
});

test('what the kernel does not take at once is not free, and arrives in order before what is written behind it', async () => {
  far.pause();
  const lean = new LeanSocket(near, () => {});
  expect(lean.write(Buffer.from([1, 2, 3]))).toBe(true);
  const written: Buffer[] = [Buffer.from([1, 2, 3])];
  let isTaken = true;
  for (let piece = 0; isTaken || piece < 40; piece++) {
    const bytes = Buffer.alloc(65_536, piece % 256);
    written.push(bytes);
    isTaken = lean.write(bytes) && isTaken;
    if (piece > 10_000) throw new Error('the kernel takes everything');
  }
  expect(isTaken).toBe(false);
  const expected = Buffer.concat(written);
  const received: Buffer[] = [];
  let count = 0;
  await new Promise<void>((resolve) => {
    far.on('data', (chunk: Buffer) => {
      received.push(chunk);
      count += chunk.length;
      if (count === expected.length) resolve();
    });
    far.resume();
  });
  expect(Buffer.concat(received).equals(expected)).toBe(true);
});

test('a write to a socket that is gone is not taken', async () => {
  const lean = new LeanSocket(near, () => {});
  near.destroy();
  await new Promise((resolve) => near.once('close', resolve));
  expect(lean.write(Buffer.from([1]))).toBe(false);
});
