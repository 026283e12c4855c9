import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { receiveBytesMax, takeDirectSocket } from './direct-socket.ts';

/** The other end is a process that sends back what it gets, as a worker's other end is a router. */
const echo = `
  const socket = new (require('node:net').Socket)({ fd: 3 });
  socket.on('data', (chunk) => socket.write(chunk));
  socket.on('end', () => process.exit(0));
`;

const waitMsMax = 10_000;

let child: ChildProcess;
let descriptor: number;

beforeEach(() => {
  child = spawn(process.execPath, ['-e', echo], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const socket = child.stdio[3] as Socket;
  // The event loop leaves it alone from here on.
  socket.pause();
  descriptor = (socket as unknown as { _handle: { fd: number } })._handle.fd;
});

afterEach(async () => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
});

function receiveAll(bytes: number): Uint8Array {
  const socket = takeDirectSocket(descriptor, waitMsMax);
  const received = new Uint8Array(bytes);
  let filled = 0;
  while (filled < bytes) {
    const chunk = socket?.receiveWaiting();
    if (chunk === undefined) throw new Error('nothing arrived');
    if (chunk === 'ended') throw new Error('the stream ended');
    received.set(chunk, filled);
    filled += chunk.length;
  }
  return received;
}

test('what is sent comes back whole, however many calls it takes', () => {
  const bytes = new Uint8Array(3 * receiveBytesMax + 7).map((_, index) => index % 251);
  const socket = takeDirectSocket(descriptor, waitMsMax);
  expect(socket?.receive()).toBeUndefined();
  socket?.send(bytes.subarray(0, 5));
  expect(receiveAll(5)).toEqual(bytes.subarray(0, 5));
  socket?.send(bytes);
  expect(receiveAll(bytes.length)).toEqual(bytes);
});

test('a chunk stays as it was when the next one arrives', () => {
  const socket = takeDirectSocket(descriptor, waitMsMax);
  socket?.send(new Uint8Array([1, 2, 3]));
  const first = receiveAll(3);
  socket?.send(new Uint8Array([4, 5, 6]));
  receiveAll(3);
  expect(first).toEqual(new Uint8Array([1, 2, 3]));
});

test('the end of the peer wakes the waiting thread, is reported, and makes sending fail', async () => {
  const socket = takeDirectSocket(descriptor, waitMsMax);
  child.kill('SIGKILL');
  // The signal that tells of the child's end may come first, and ends a wait.
  expect(socket?.receiveWaiting() ?? socket?.receiveWaiting()).toBe('ended');
  expect(socket?.receive()).toBe('ended');
  expect(() => socket?.send(new Uint8Array(1))).toThrow('send failed');
  await once(child, 'exit');
});

test('a wait without an arrival ends at its limit', () => {
  expect(takeDirectSocket(descriptor, 1)?.receiveWaiting()).toBeUndefined();
});
