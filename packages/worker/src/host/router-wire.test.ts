import { type DirectSocket, receiveBytesMax } from '@millrace/shared-memory';
import { expect, test } from 'vitest';
import { AttentiveWire } from './router-wire.ts';

type Arrival = ReturnType<DirectSocket['receive']>;

/** A wire whose worker is busy, so that it receives only when `listen` is called. */
function wireOf(arrivals: Arrival[]) {
  let calls = 0;
  const socket: Pick<DirectSocket, 'receive' | 'send' | 'sleep'> = {
    receive() {
      calls += 1;
      return arrivals.shift();
    },
    send() {},
    sleep() {},
  };
  const heard: (number | 'ended')[] = [];
  const wire = new AttentiveWire(socket as DirectSocket);
  wire.open({
    receive: (chunk) => heard.push(chunk.length),
    ended: () => heard.push('ended'),
    isBusy: () => true,
  });
  return { wire, heard, calls: () => calls };
}

test('a chunk that does not fill the buffer is taken as the last one, so that one system call is enough between two batches', () => {
  const { wire, heard, calls } = wireOf([new Uint8Array(160), new Uint8Array(80)]);
  wire.listen();
  expect(heard).toEqual([160]);
  expect(calls()).toBe(1);
  wire.listen();
  expect(heard).toEqual([160, 80]);
});

test('data of more than one full chunk is received in one go', () => {
  const { wire, heard } = wireOf([new Uint8Array(receiveBytesMax), new Uint8Array(receiveBytesMax), new Uint8Array(8)]);
  wire.listen();
  expect(heard).toEqual([receiveBytesMax, receiveBytesMax, 8]);
});

test('the end of the stream is noticed after a full chunk and after a short one', () => {
  const full = wireOf([new Uint8Array(receiveBytesMax), 'ended']);
  full.wire.listen();
  expect(full.heard).toEqual([receiveBytesMax, 'ended']);
  const short = wireOf([new Uint8Array(8), 'ended']);
  short.wire.listen();
  short.wire.listen();
  expect(short.heard).toEqual([8, 'ended']);
});
