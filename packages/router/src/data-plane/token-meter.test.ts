import { expect, test } from 'vitest';
import type { GeneratorObserver } from './observer.ts';
import { TokenMeter } from './token-meter.ts';

function recorded(): { readonly observer: GeneratorObserver; readonly events: string[] } {
  const events: string[] = [];
  const observer: GeneratorObserver = {
    textBegan: (...values) => events.push(`began ${values.join(' ')}`),
    tokenGenerated: (sinceLastMs) => events.push(`token ${sinceLastMs}`),
    textEnded: (reason, ms) => events.push(`ended ${reason} ${ms}`),
    loadChanged: () => {},
  };
  return { observer, events };
}

test('a text has one beginning, a token for each answer, and one end', () => {
  const { observer, events } = recorded();
  const meter = new TokenMeter(observer, { arrivedAt: 100, dispatchedAt: 110, tokensCounted: 0 });
  meter.token(1, { promptTokens: 7 }, 150);
  meter.token(2, { promptTokens: 7 }, 153);
  meter.token(3, { promptTokens: 7, finishReason: 'length' }, 158);
  expect(events).toEqual(['began 7 50 40', 'token undefined', 'token 3', 'token 5', 'ended length 8']);
});

test('what an earlier run gave is not counted again', () => {
  const { observer, events } = recorded();
  const meter = new TokenMeter(observer, { arrivedAt: 0, dispatchedAt: 0, tokensCounted: 2 });
  for (const [index, at] of [10, 20, 30, 40].entries()) meter.token(index + 1, { promptTokens: 7 }, at);
  meter.token(5, { promptTokens: 7, finishReason: 'stop' }, 50);
  expect(events).toEqual(['token undefined', 'token 10', 'token 10', 'ended stop 20']);
  const again = new TokenMeter(observer, { arrivedAt: 0, dispatchedAt: 0, tokensCounted: 5 });
  events.length = 0;
  for (let token = 1; token <= 5; token++) again.token(token, { promptTokens: 7, finishReason: 'stop' }, 60);
  expect(events).toEqual([]);
});
