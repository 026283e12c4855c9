/** A stream during which things are killed: the same program in Node and in browsers. */
import type { Client } from '@millrace/client';
import { runningTotal } from '../../support/running-total-name.ts';

/** By the number of outputs. Far enough apart that one is over before the next: only two inputs are ahead of the outputs. */
const faults = { 5: 'kill-worker', 10: 'cut', 15: 'reset', 20: 'kill-router' } as const;
export type StreamFault = (typeof faults)[keyof typeof faults];

const inputs = 24;

/** What it must see, whatever happens. */
export const undisturbedTotals = Array.from({ length: inputs }, (_, at) => ((at + 1) * (at + 2)) / 2);

export interface DisturbedStream {
  readonly totals: readonly unknown[];
  /** Codes of the errors that it was told of. */
  readonly gaps: readonly string[];
  readonly gapsMs: readonly number[];
}

export async function streamThroughFaults(
  client: Client,
  disturb: (fault: StreamFault) => unknown,
): Promise<DisturbedStream> {
  const [totals, gaps, gapsMs]: [unknown[], string[], number[]] = [[], [], []];
  const stream = client.stream(runningTotal, {
    onGap: ({ code }) => gaps.push(code),
    onResumed: (gapMs) => gapsMs.push(gapMs),
  });
  const value = (one: number) => ({ value: { shape: [1, 1], data: Float32Array.of(one) } });
  let sent = 1;
  await stream.send(value(1));
  for await (const { sequence, tensors } of stream) {
    totals.push(tensors.total?.data[0]);
    if (sequence !== totals.length) throw new Error(`output ${sequence} is number ${totals.length}`);
    const fault = faults[totals.length as keyof typeof faults];
    if (fault !== undefined) await disturb(fault);
    // Two ahead, so that something is always under way.
    while (sent < Math.min(inputs, totals.length + 2)) {
      sent += 1;
      void (sent === inputs ? stream.sendLast(value(sent)) : stream.send(value(sent)));
    }
  }
  return { totals, gaps, gapsMs };
}
