import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { onStopSignal } from './stop-signals.ts';

test('the first signal asks, its echo is not counted, the second ends with its exit code', () => {
  const signals = new EventEmitter();
  const heard: (string | number)[] = [];
  let now = 0;
  const unlisten = onStopSignal({ signals, now: () => now, exitNow: (code) => heard.push(code) }, (signal) => {
    heard.push(signal);
  });
  signals.emit('SIGINT');
  now += 299;
  signals.emit('SIGINT');
  expect(heard).toEqual(['SIGINT']);
  now += 1;
  signals.emit('SIGINT');
  signals.emit('SIGTERM');
  expect(heard).toEqual(['SIGINT', 130, 143]);
  unlisten();
  expect(signals.eventNames()).toEqual([]);
});
