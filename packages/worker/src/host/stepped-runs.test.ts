import { Cancellation, HeapRegion, InferenceError, type PartialAnswerMessage } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { SteppedRun } from '../engine.ts';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { SteppedRuns } from './stepped-runs.ts';

/** A run that gives a number of answers of one byte, and records its calls. */
function runOf(answers: number, failsAt = -1) {
  const asked = { steps: 0, ends: 0 };
  const run: SteppedRun = {
    async step(memory) {
      asked.steps += 1;
      if (asked.steps === failsAt) throw new InferenceError('inference-failed', 'it broke');
      if (asked.steps > answers) return undefined;
      const [part] = memory.layOut([1]) as [Uint8Array];
      memory.write(0, Uint8Array.of(asked.steps));
      return { outputs: [{ index: 0, shape: [1], data: part }] };
    },
    end: () => {
      asked.ends += 1;
    },
  };
  return { run, asked };
}

function runsUnderTest(refuse?: InferenceError) {
  const sent: PartialAnswerMessage[] = [];
  let lent = 0;
  const lend = (bytes: number) => {
    lent += 1;
    const region = new HeapRegion(new Uint8Array(bytes));
    return {
      bytes: region.bytes,
      release: () => {
        lent -= 1;
      },
    };
  };
  const runs = new SteppedRuns({
    makeMemory: () => new GuardedOutputMemory(lend, () => 7),
    send: (message) => {
      if (refuse !== undefined) message.region.release();
      else sent.push(message);
      return refuse;
    },
  });
  return { runs, sent, lent: () => lent };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a step runs only when the router has granted credit for one more answer', async () => {
  const { runs, sent } = runsUnderTest();
  const { run, asked } = runOf(5);
  runs.open(3, 2);
  const ended = runs.answer(3, run, new Cancellation());
  await turn();
  expect([sent.map(({ sequence }) => sequence), asked.steps]).toEqual([[1, 2], 2]);
  runs.grant({ kind: 'grant', batch: 3, answers: 1 });
  await turn();
  expect(sent.map(({ batch, sequence, outputs }) => [batch, sequence, outputs[0]?.data[0]])).toEqual([
    [3, 1, 1],
    [3, 2, 2],
    [3, 3, 3],
  ]);
  runs.grant({ kind: 'grant', batch: 3, answers: 9 });
  await ended;
  expect([sent.length, asked.ends]).toEqual([5, 0]);
  runs.grant({ kind: 'grant', batch: 3, answers: 9 });
  await turn();
  expect(sent).toHaveLength(5);
});

test('a run that is cancelled while it waits for credit ends at once', async () => {
  const { runs, sent } = runsUnderTest();
  const { run, asked } = runOf(5);
  const cancellation = new Cancellation();
  runs.open(1, 1);
  const ended = runs.answer(1, run, cancellation);
  await turn();
  cancellation.cancel('cancelled');
  await expect(ended).rejects.toMatchObject({ code: 'cancelled' });
  expect([sent.length, asked]).toEqual([1, { steps: 1, ends: 1 }]);
});

test('a step that fails, or an answer that cannot be sent, fails the run, which ends, and its memory is released', async () => {
  const failing = runsUnderTest();
  failing.runs.open(1, 8);
  const failed = failing.runs.answer(1, runOf(5, 3).run, new Cancellation());
  await expect(failed).rejects.toMatchObject({ message: 'it broke' });
  expect([failing.sent.length, failing.lent()]).toEqual([2, 2]);
  const full = runsUnderTest(new InferenceError('unsupported', 'too long'));
  full.runs.open(1, 8);
  const { run, asked } = runOf(5);
  await expect(full.runs.answer(1, run, new Cancellation())).rejects.toMatchObject({ message: 'too long' });
  expect([full.lent(), asked.ends]).toEqual([0, 1]);
});

/** Gives its numbers in one array that it uses again, and fails after the last. */
function pulledRunOf(...numbers: readonly number[]): SteppedRun {
  const left = [...numbers];
  const reused = new Uint8Array(1);
  return {
    step: () => Promise.reject(new Error('a run that can be pulled is not stepped')),
    pulled: {
      next: async () => {
        if (left.length === 0) throw new TypeError('no more numbers');
        reused[0] = left.shift() as number;
        return reused;
      },
      layOut: (given, memory) => {
        const [data] = memory.give([given as Uint8Array]) as [Uint8Array];
        return { outputs: [{ index: 0, shape: [1], data }] };
      },
      failureFrom: (error) => new InferenceError('inference-failed', `in the run: ${(error as Error).message}`),
    },
    end: () => {},
  };
}

test.each([0, 16])(
  'a run that is pulled may use its memory again: %i bytes are copied by whoever sends',
  async (copied) => {
    const sent: number[] = [];
    const runs = new SteppedRuns({
      makeMemory: () =>
        new GuardedOutputMemory(
          (bytes) => new HeapRegion(new Uint8Array(bytes)),
          () => 7,
          copied,
        ),
      send: ({ outputs, region }) => {
        sent.push(outputs[0]?.data[0] as number);
        region.release();
        return undefined;
      },
    });
    runs.open(1, 8);
    const answered = runs.answer(1, pulledRunOf(5, 6, 7), new Cancellation());
    await expect(answered).rejects.toEqual(new InferenceError('inference-failed', 'in the run: no more numbers'));
    expect(sent).toEqual([5, 6, 7]);
  },
);

test('an answer that is kept is not changed by the next one where nobody copies it', async () => {
  const { runs, sent } = runsUnderTest();
  runs.open(1, 8);
  await expect(runs.answer(1, pulledRunOf(5, 6, 7), new Cancellation())).rejects.toThrow('no more numbers');
  expect(sent.map(({ outputs }) => outputs[0]?.data[0])).toEqual([5, 6, 7]);
});
