import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ClientLink } from './client-link.ts';
import type { PayloadCodec } from './payload-codec.ts';
import type { StreamLinkFrame } from './stream-gateway.ts';

const output = (sequence: number): StreamLinkFrame => ({
  kind: 'output',
  sequence,
  inputSequence: 1,
  payload: undefined,
  endOfOutput: false,
});

test('what a held frame leads to at once comes behind those that are held', async () => {
  const seen: number[] = [];
  const link: ClientLink = new ClientLink(
    1,
    {
      onFrame: (frame) => {
        if (frame.kind !== 'output') return;
        seen.push(frame.sequence);
        // As a stream does that is told at once that there is room.
        if (frame.sequence === 1) link.onFrame(output(4));
      },
      onClosed: () => {},
    },
    { wallNow: () => 0 },
    {} as PayloadCodec,
  );
  link.holdBack(Promise.resolve());
  for (const sequence of [1, 2, 3]) link.onFrame(output(sequence));
  expect(seen).toEqual([]);
  await setImmediate();
  link.onFrame(output(5));
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

test('frames that are held anew while some are passed on stay held, and in order', async () => {
  const seen: number[] = [];
  let release = (): void => {};
  const link: ClientLink = new ClientLink(
    1,
    {
      onFrame: (frame) => {
        if (frame.kind !== 'output') return;
        seen.push(frame.sequence);
        if (frame.sequence !== 1) return;
        link.holdBack(
          new Promise((resolve) => {
            release = resolve;
          }),
        );
      },
      onClosed: () => {},
    },
    { wallNow: () => 0 },
    {} as PayloadCodec,
  );
  link.holdBack(Promise.resolve());
  for (const sequence of [1, 2, 3]) link.onFrame(output(sequence));
  await setImmediate();
  expect(seen).toEqual([1]);
  link.onFrame(output(4));
  release();
  await setImmediate();
  expect(seen).toEqual([1, 2, 3, 4]);
});
