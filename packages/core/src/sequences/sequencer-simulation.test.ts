import { expect, test } from 'vitest';
import { Sequencer } from './sequencer.ts';
import type { SequencerEvent } from './sequencer-events.ts';
import { SequenceReferee } from './testing/referee.ts';
import { resolveTestPolicy } from './testing/story.ts';

const seeds = 2000;
const eventsPerSeed = 80;

/** A small generator of its own, so that a seed means the same everywhere. */
function randomFrom(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function simulate(seed: number): { readonly seen: ReadonlySet<string> } {
  const random = randomFrom(seed + 1);
  const policy = resolveTestPolicy({
    slotsMax: 1 + random(3),
    backlogSequencesMax: random(4),
    idleMsMax: 20 + random(60),
    slotWaitMsMax: random(3) === 0 ? Number.POSITIVE_INFINITY : 30 + random(60),
    waitingStepsMax: 1 + random(8),
    waitingBytesMax: 10 + random(60),
  });
  const owners = random(2) === 0 ? 1 : 2 + random(3);
  const sequencer = new Sequencer(policy);
  const referee = new SequenceReferee(policy);
  const seen = new Set<string>();
  let now = 0;
  let steps = 0;
  const tell = (event: SequencerEvent): void => {
    referee.told(event, now);
    sequencer.handle(event, now);
    for (const action of sequencer.takeActions()) {
      seen.add(action.kind === 'refuse' ? action.code : action.kind === 'forget' ? action.reason : action.kind);
      referee.said(action, now);
    }
    referee.settled(sequencer.counts(), now);
  };
  const pick = (fate: 'running' | 'waiting'): number | undefined => {
    const found = referee.with(fate);
    return found[random(Math.max(1, found.length))]?.arrived.step;
  };
  const arrive = (): void => {
    steps += 1;
    const isStart = random(3) === 0;
    tell({
      kind: 'step-arrived',
      step: {
        step: steps,
        owner: `owner ${random(owners)}`,
        id: random(2) === 0 ? BigInt(1 + random(3)) : String(1 + random(3)),
        isStart,
        isEnd: random(4) === 0,
        bytes: random(12),
        deadlineAt: random(4) === 0 ? now + random(40) : Number.POSITIVE_INFINITY,
        slotWaitMsMax: random(4) === 0 ? random(40) : Number.POSITIVE_INFINITY,
      },
    });
  };
  /** Time passes, and the alarm rings when it was asked to. */
  const pass = (ms: number): void => {
    const end = now + ms;
    while (referee.wakeAt <= end) {
      now = Math.max(now, referee.wakeAt);
      tell({ kind: 'tick' });
    }
    now = end;
  };
  for (let count = 0; count < eventsPerSeed; count++) {
    const running = pick('running');
    const waiting = pick('waiting');
    switch (random(8)) {
      case 0:
      case 1:
        if (running !== undefined) tell({ kind: 'step-answered', step: running });
        break;
      case 2:
        if (running !== undefined && random(3) === 0) {
          tell({ kind: 'step-failed', step: running, code: 'inference-failed', message: 'it failed' });
        }
        break;
      case 3: {
        const step = random(2) === 0 ? running : waiting;
        if (step !== undefined && random(3) === 0) tell({ kind: 'step-cancelled', step, reason: 'cancelled' });
        break;
      }
      case 4:
        pass(random(50));
        break;
      default:
        arrive();
    }
  }
  // Every other run ends in haste.
  tell({ kind: seed % 2 === 0 ? 'closing' : 'closing-at-once' });
  for (let count = 0; count < eventsPerSeed; count++) {
    const step = pick('running');
    if (step === undefined) pass(100);
    else if (count % 2 === 1) tell({ kind: 'step-failed', step, code: 'worker-lost', message: 'it died' });
    else tell({ kind: 'step-answered', step });
  }
  const counts = sequencer.counts();
  if (counts.liveSequences + counts.backlogSequences + counts.waitingSteps > 0 || !referee.isClosed) {
    throw new Error(`something is left: ${JSON.stringify(counts)}`);
  }
  if (referee.with('waiting').length > 0) throw new Error('a step has neither run nor been refused');
  return { seen };
}

test(`in ${seeds} runs no step is lost, doubled, overtaken or left, and no slot, limit or time is broken`, () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < seeds; seed++) {
    try {
      for (const what of simulate(seed).seen) seen.add(what);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  // Whatever can happen has happened.
  expect([...seen].sort()).toEqual(
    [
      'cancel-run',
      'caller-full',
      'cancelled',
      'closed',
      'deadline-exceeded',
      'ended',
      'failed',
      'idle',
      'inference-failed',
      'invalid-request',
      'model-full',
      'model-not-ready',
      'queue-timeout',
      'reclaimed',
      'run',
      'unloaded',
      'wake-at',
      'worker-lost',
    ].sort(),
  );
});
