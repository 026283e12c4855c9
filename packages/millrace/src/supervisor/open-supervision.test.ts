import { EventEmitter } from 'node:events';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BeginMessage } from './messages.ts';
import { openSupervision, type SupervisorChannel } from './open-supervision.ts';

type Sent = readonly [message: unknown, handle: unknown];

class ChannelDouble extends EventEmitter implements SupervisorChannel {
  readonly sent: Sent[] = [];
  connected = true;

  send(message: unknown, handle: unknown, _options: undefined, onSent: () => void): boolean {
    this.sent.push([message, handle]);
    onSent();
    return true;
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const begin: BeginMessage = { kind: 'begin', folder: undefined, listeners: [], restarts: 3, restart: undefined };

async function supervised(message: BeginMessage) {
  const channel = new ChannelDouble();
  let gone = 0;
  const opened = openSupervision(channel, () => {
    gone += 1;
  });
  channel.emit('message', message);
  return { channel, supervision: await opened, goneTimes: () => gone };
}

test('inherited sockets are given once, and those that nobody took are closed when the others are kept', async () => {
  const descriptor = openSync('/dev/null', 'r');
  const listeners = [
    { key: 'http', descriptor: 5 },
    { key: 'old', descriptor },
  ];
  const { supervision, channel } = await supervised({ ...begin, listeners });
  expect(supervision.restarts).toBe(3);
  expect([supervision.takeListener('http'), supervision.takeListener('http')]).toEqual([5, undefined]);
  expect(supervision.takeListener('grpc')).toBeUndefined();
  expect(fstatSync(descriptor).isCharacterDevice()).toBe(true);
  const kept = supervision.keepListeners(new Map([['http', 'handle']]));
  expect(channel.sent).toEqual([
    [{ kind: 'listener', key: 'http' }, 'handle'],
    [{ kind: 'listening', keys: ['http'] }, undefined],
  ]);
  expect(() => closeSync(descriptor)).toThrow('EBADF');
  channel.emit('message', { kind: 'kept' });
  await kept;
});

test('sockets are released when the supervisor says so', async () => {
  const { supervision, channel } = await supervised(begin);
  let isReleased = false;
  const released = supervision.releaseListeners().then(() => {
    isReleased = true;
  });
  await Promise.resolve();
  expect(isReleased).toBe(false);
  channel.emit('message', { kind: 'released' });
  await released;
  expect(channel.sent).toEqual([[{ kind: 'release' }, undefined]]);
});

test('the end is announced before it comes, and the end of the supervisor is noticed', async () => {
  const { supervision, channel, goneTimes } = await supervised(begin);
  let isAnnounced = false;
  supervision.announceEnd(() => {
    isAnnounced = true;
  });
  expect([isAnnounced, channel.sent]).toEqual([true, [[{ kind: 'ending' }, undefined]]]);
  expect(goneTimes()).toBe(0);
  channel.emit('disconnect');
  expect(goneTimes()).toBe(1);
});

test('a channel that closes without its event is noticed, once', async () => {
  const { channel, goneTimes } = await supervised(begin);
  vi.advanceTimersByTime(5000);
  expect(goneTimes()).toBe(0);
  channel.connected = false;
  vi.advanceTimersByTime(5000);
  expect(goneTimes()).toBe(1);
});
