import { type DirectSocket, receiveBytesMax } from '@millrace/shared-memory';
import { expect, test } from 'vitest';
import { AttentiveWire } from './router-wire.ts';

type Arrival = ReturnType<DirectSocket['receive']>;

/** A wire whose worker is busy, so that it receives only when `listen` is called. */
function wireOf(arrivals: Arrival[]) {
  let calls = 0;
  const socket: Pick<DirectSocket, 'receive' | 'receiveWaiting' | 'send'> = {
    receive() {
      calls += 1;
      return arrivals.shift();
    },
    send() {},
    receiveWaiting: () => undefined,
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

test('an idle worker waits for a job in one call, does not read again for it, and reads after it', async () => {
  const arrivals: Arrival[] = [new Uint8Array(160), new Uint8Array(80)];
  const calls: string[] = [];
  const socket: Pick<DirectSocket, 'receive' | 'receiveWaiting' | 'send'> = {
    receive() {
      calls.push('receive');
      return arrivals.shift();
    },
    send() {},
    receiveWaiting() {
      calls.push('await');
      return arrivals.shift();
    },
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
  expect(calls).toEqual(['await']);
  wire.listen();
  expect(calls).toEqual(['await', 'receive']);
});

test('what an idle worker receives that is no job lets it wait again, and the event loop has its turn now and then', async () => {
  const messages = 100;
  const heard: number[] = [];
  let turns = 0;
  const countTurns = (): void => {
    turns += 1;
    if (heard.length < messages) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const socket: Pick<DirectSocket, 'receive' | 'receiveWaiting' | 'send'> = {
    receive: () => undefined,
    send() {},
    receiveWaiting: () => new Uint8Array(8),
  };
  await new Promise<void>((resolve) =>
    new AttentiveWire(socket as DirectSocket).open({
      receive: (chunk) => {
        heard.push(chunk.length);
        if (heard.length === messages) resolve();
      },
      ended: () => expect.unreachable(),
      isBusy: () => heard.length === messages,
    }),
  );
  expect(heard).toHaveLength(messages);
  expect(turns).toBeGreaterThanOrEqual(3);
});

test('a wait without an arrival lets the event loop have its turn', async () => {
  let waits = 0;
  const socket: Pick<DirectSocket, 'receive' | 'receiveWaiting' | 'send'> = {
    receive: () => undefined,
    send() {},
    receiveWaiting() {
      waits += 1;
      return undefined;
    },
  };
  let isBusy = false;
  new AttentiveWire(socket as DirectSocket).open({
    receive: () => expect.unreachable(),
    ended: () => expect.unreachable(),
    isBusy: () => isBusy,
  });
  await new Promise((resolve) => setImmediate(resolve));
  isBusy = true;
  expect(waits).toBeLessThanOrEqual(3);
});
