/**
 * Budget: 1 µs a step for arrival and answer together, beside the scheduler's own. Run with
 * `npx vitest bench packages/core/src/sequences`. One iteration is a step of each of 64 sequences, so divide by 64. The
 * baseline beside it finds each sequence by its id and marks it, which no sequencer can avoid.
 */
import { bench, describe } from 'vitest';
import { Sequencer } from './sequencer.ts';
import type { ArrivedStep } from './sequencer-events.ts';
import { resolveTestPolicy } from './testing/story.ts';

const sequences = 64;
const ids = Array.from({ length: sequences }, (_, index) => BigInt(index + 1));

function arrivedStep(step: number, id: bigint, isStart: boolean): ArrivedStep {
  return {
    step,
    owner: '127.0.0.1',
    id,
    isStart,
    isEnd: false,
    bytes: 64,
    deadlineAt: Infinity,
    slotWaitMsMax: Infinity,
  };
}

describe('a step of each of 64 sequences', () => {
  const sequencer = new Sequencer(resolveTestPolicy({ slotsMax: sequences, idleMsMax: 1000 }));
  let step = 0;
  let now = 0;
  const round = (isStart: boolean): void => {
    now += 1;
    for (const id of ids) {
      step += 1;
      sequencer.handle({ kind: 'step-arrived', step: arrivedStep(step, id, isStart) }, now);
      sequencer.takeActions();
    }
    for (let answered = step - sequences + 1; answered <= step; answered++) {
      sequencer.handle({ kind: 'step-answered', step: answered }, now);
      sequencer.takeActions();
    }
  };
  round(true);
  bench('sequencer', () => round(false));

  const marks = new Map(ids.map((id) => [id, { at: 0 }]));
  bench('yardstick', () => {
    now += 1;
    for (const id of ids) {
      const mark = marks.get(id);
      if (mark !== undefined) mark.at = now;
    }
  });
});
