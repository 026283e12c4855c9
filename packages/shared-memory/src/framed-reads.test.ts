import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type FramedReads, takeFramedReads } from './framed-reads.ts';

let server: Server;
let receiving: Socket;
let sending: Socket;

beforeEach(async () => {
  server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  sending = connect((server.address() as { port: number }).port, '127.0.0.1');
  [receiving] = (await accepted) as [Socket];
});

afterEach(() => {
  sending.destroy();
  receiving.destroy();
  server.close();
});

const descriptor = (): number => (receiving as unknown as { _handle: { fd: number } })._handle.fd;

function mustTake(): FramedReads {
  const reads = takeFramedReads();
  if (reads === undefined) throw new Error('this machine cannot read frames');
  return reads;
}

/** What arrives on this machine is there a moment later. */
async function readSoon(read: () => number): Promise<number> {
  for (let turn = 0; turn < 1000; turn++) {
    const count = read();
    if (count > 0) return count;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('nothing arrived');
}

const write = (text: string): Promise<void> => new Promise((resolve) => sending.write(text, () => resolve()));

test('contents of frames lie side by side, and their heads elsewhere', async () => {
  const reads = mustTake();
  const into = Buffer.alloc(64, '.');
  const heads = Buffer.alloc(64, '.');
  await write('abc<1>defgh<2>ijklm<3>no');
  const count = await readSoon(() => reads.read(descriptor(), into, 3, 5, heads, 3));
  expect(count).toBe(24);
  expect(into.toString()).toBe('abcdefghijklmno'.padEnd(64, '.'));
  expect(heads.toString()).toBe('<1><2><3>'.padEnd(64, '.'));
});

test('nothing is read beyond the memory, or beyond the room for heads', async () => {
  const reads = mustTake();
  const memory = Buffer.alloc(32, '.');
  const heads = Buffer.alloc(32, '.');
  await write('abc<1>defgh<2>ijklm<3>no');
  const count = await readSoon(() => reads.read(descriptor(), memory.subarray(4, 14), 3, 5, heads.subarray(0, 6), 3));
  // The last frame is cut off where the memory ends.
  expect(count).toBe(3 + 3 + 5 + 3 + 2);
  expect(memory.toString()).toBe('....abcdefghij'.padEnd(32, '.'));
  expect(heads.toString()).toBe('<1><2>'.padEnd(32, '.'));
  const rest = Buffer.alloc(8, '.');
  expect(reads.read(descriptor(), rest, 8, 8, heads.subarray(0, 0), 3)).toBe(8);
  expect(rest.toString()).toBe('klm<3>no');
});

test('without anything to read nothing is read, and the end is left for the next reader', async () => {
  const reads = mustTake();
  const into = Buffer.alloc(8);
  expect(reads.read(descriptor(), into, 4, 4, Buffer.alloc(8), 2)).toBe(0);
  sending.end();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(reads.read(descriptor(), into, 4, 4, Buffer.alloc(8), 2)).toBe(0);
  const ended = once(receiving, 'end');
  receiving.resume();
  await ended;
});

test('as many frames are read at once as the vector has room for', async () => {
  const reads = mustTake();
  const into = Buffer.alloc(1000, '.');
  const heads = Buffer.alloc(1000, '.');
  await write('a-'.repeat(100));
  const count = await readSoon(() => reads.read(descriptor(), into, 1, 1, heads, 1));
  expect(count).toBe(127);
  expect(into.toString()).toBe('a'.repeat(64).padEnd(1000, '.'));
  expect(heads.toString()).toBe('-'.repeat(63).padEnd(1000, '.'));
});
