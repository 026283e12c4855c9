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

test('an idle worker sleeps first, reads once for the job that wakes it, and again after that job', async () => {
  const arrivals: Arrival[] = [new Uint8Array(160), new Uint8Array(80)];
  const calls: string[] = [];
  const socket: Pick<DirectSocket, 'receive' | 'send' | 'sleep'> = {
    receive() {
      calls.push('receive');
      return arrivals.shift();
    },
    send() {},
    sleep: () => calls.push('sleep'),
  };
  const wire = new AttentiveWire(socket as DirectSocket);
  let isBusy = false;
  const received = new Promise<void>((resolve) =>
    wire.open({
      receive: () => {
        isBusy = true;
        resolve();
      },
      ended: () => expect.unreachable(),
      isBusy: () => isBusy,
    }),
  );
  await received;
  wire.listen();
  expect(calls).toEqual(['sleep', 'receive']);
  wire.listen();
  expect(calls).toEqual(['sleep', 'receive', 'receive']);
});

test('what an idle worker receives that is no job lets it sleep again', async () => {
  const arrivals: Arrival[] = [new Uint8Array(8), new Uint8Array(16)];
  const heard: number[] = [];
  let sleeps = 0;
  const socket: Pick<DirectSocket, 'receive' | 'send' | 'sleep'> = {
    receive: () => arrivals.shift(),
    send() {},
    sleep: () => {
      sleeps += 1;
    },
  };
  await new Promise<void>((resolve) =>
    new AttentiveWire(socket as DirectSocket).open({
      receive: (chunk) => {
        heard.push(chunk.length);
        if (heard.length === 2) resolve();
      },
      ended: () => expect.unreachable(),
      isBusy: () => heard.length === 2,
    }),
  );
  expect(heard).toEqual([8, 16]);
  expect(sleeps).toBe(2);
});
