/** Faults drawn at random: the same seed draws the same faults at the same times. */
import type { chaosKinds, Fault } from './fault.ts';

export interface DrawnFault {
  /** After the one before. */
  readonly afterMs: number;
  readonly fault: Fault;
}

export interface RandomFaultOptions {
  /** On average from one fault to the next. */
  readonly meanMs: number;
  readonly kinds: readonly (typeof chaosKinds)[number][];
  /** In [0, 1). */
  readonly random: () => number;
}

/** Never a burst without a pause, never a pause of more than three times the mean. */
export function drawFault({ meanMs, kinds, random }: RandomFaultOptions): DrawnFault {
  const afterMs = Math.round(meanMs * Math.min(3, 0.1 - 0.9 * Math.log(1 - random())));
  const kind = kinds[Math.floor(random() * kinds.length)] ?? 'reset';
  return { afterMs, fault: faultOf(kind, random) };
}

function faultOf(kind: (typeof chaosKinds)[number], random: () => number): Fault {
  const below = (limit: number): number => Math.floor(random() * limit);
  const forMs = 1000 + below(4000);
  switch (kind) {
    case 'cut':
    case 'reset':
      return { kind };
    case 'half-close':
      return { kind, side: below(2) === 0 ? 'client' : 'server' };
    case 'black-hole':
      return { kind, forMs };
    case 'delay':
      return { kind, delayMs: 50 + below(950), jitterMs: below(200), forMs };
    case 'limit':
      return { kind, bytesPerSecond: 1024 * (4 + below(252)), forMs };
  }
}
