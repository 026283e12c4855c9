import { describe, expect, test } from 'vitest';
import { Dice } from '../../memory/testing/dice.ts';
import { type CallerRunsMax, resolveModelPolicy } from '../../model-policy.ts';
import { Scheduler } from '../scheduler.ts';
import { mayBeginRun } from './caller-runs.ts';

/** Callers of a model whose runs end only when their caller likes, and what the scheduler has given to each of them. */
class Readers {
  readonly scheduler = new Scheduler();
  readonly runs: { readonly batch: number; readonly worker: number; readonly caller: string }[] = [];
  readonly waiting = new Map<number, string>();
  readonly refused: { readonly caller: string; readonly message: string }[] = [];
  readonly runsMax: number;
  #requestCount = 0;

  constructor(callerRunsMax: CallerRunsMax, runsMax: number, workers = 1) {
    this.runsMax = runsMax;
    const bounds = { rowsMax: 1, queueRequestsMax: 4096, queueBytesMax: 1e9, runMsMax: Infinity };
    const policy = resolveModelPolicy({ ...bounds, isConcurrent: true, callerRunsMax });
    this.scheduler.handle({ kind: 'model-added', model: 'story', policy }, 0);
    for (let worker = 1; worker <= workers; worker++) {
      this.scheduler.handle({ kind: 'worker-credit', worker, batchesMax: runsMax }, 0);
      this.scheduler.handle({ kind: 'worker-serves', worker, model: 'story', priorityMax: Infinity }, 0);
    }
  }

  ask(caller: string, count = 1): void {
    for (let left = count; left > 0; left--) {
      this.#requestCount += 1;
      const request = this.#requestCount;
      this.waiting.set(request, caller);
      const rest = { deadlineAt: Infinity, priority: 0, queueTimeoutMs: Infinity, isAlone: false };
      this.scheduler.admit({ request, model: 'story', rows: 1, bytes: 1, group: 'a', caller, ...rest }, 0);
    }
    this.pump();
  }

  end(index: number): void {
    const [run] = this.runs.splice(index, 1);
    if (run === undefined) return;
    this.scheduler.handle({ kind: 'batch-answered', batch: run.batch }, 0);
    this.pump();
  }

  pump(): void {
    this.scheduler.pump(0);
    for (const action of this.scheduler.takeActions()) {
      if (action.kind === 'refuse') {
        this.refused.push({ caller: this.#takeCaller(action.request), message: action.message });
      } else if (action.kind === 'dispatch') {
        const caller = this.#takeCaller(action.requests[0] as number);
        this.runs.push({ batch: action.batch, worker: action.worker, caller });
      }
    }
  }

  of(caller: string, worker?: number): number {
    return this.runs.filter((run) => run.caller === caller && run.worker === (worker ?? run.worker)).length;
  }

  freeOn(worker: number): number {
    return this.runsMax - this.runs.filter((run) => run.worker === worker).length;
  }

  #takeCaller(request: number): string {
    const caller = this.waiting.get(request) as string;
    this.waiting.delete(request);
    return caller;
  }
}

test.each([
  [1, 1],
  [2, 1],
  [4, 2],
  [8, 4],
  [32, 13],
  [256, 98],
])('of %i runs a caller that is alone may have %i', (runsMax, most) => {
  const readers = new Readers('share', runsMax);
  readers.ask('hog', 300);
  expect(readers.of('hog')).toBe(most);
});

test('a caller that opens 300 texts and reads none leaves room for those of others, in any number of callers up to 30', () => {
  const readers = new Readers('share', 256);
  readers.ask('hog', 300);
  for (let index = 0; index < 30; index++) {
    readers.ask(`caller ${index}`);
    expect(readers.of(`caller ${index}`)).toBe(1);
  }
  expect(readers.refused).toEqual([]);
});

test('where the runs are taken, the first that ends goes to a caller that has none', () => {
  const readers = new Readers('share', 4);
  for (const caller of ['hog', 'hog', 'ann', 'bob']) readers.ask(caller);
  readers.ask('hog', 5);
  readers.ask('cy');
  expect(readers.of('cy')).toBe(0);
  readers.end(0);
  expect(readers.of('cy')).toBe(1);
});

test('a caller does not fill the queue: it is refused by name, and others wait in it', () => {
  const readers = new Readers('share', 1);
  readers.ask('hog', 5000);
  expect(new Set(readers.refused.map(({ caller }) => caller))).toEqual(new Set(['hog']));
  expect(readers.refused[0]?.message).toMatch(
    /^this caller has 15\d\d requests waiting for story, its share of the queue;/,
  );
  const before = readers.refused.length;
  readers.ask('ann', 300);
  expect(readers.refused).toHaveLength(before);
});

test('a number in place of the share counts for each worker', () => {
  const readers = new Readers(3, 8, 2);
  readers.ask('hog', 20);
  expect([readers.of('hog', 1), readers.of('hog', 2)]).toEqual([3, 3]);
});

describe.each([
  [8, 1],
  [32, 2],
  [256, 1],
])('with %i runs on each of %i workers', (runsMax, workers) => {
  test('n callers leave a part of 1 / (n + 1) free, less one run each, and nobody without a run waits for a free one', () => {
    let overtaken = 0;
    for (let seed = 1; seed <= 10; seed++) {
      const dice = new Dice(seed);
      const readers = new Readers('share', runsMax, workers);
      const must = (isTrue: boolean, otherwise: string): void => {
        if (!isTrue) throw new Error(`seed ${seed}: ${otherwise}`);
      };
      for (let step = 0; step < 60; step++) {
        const caller = `caller ${dice.below(1 + dice.below(12))}`;
        if (dice.below(3) > 0) readers.ask(caller, 1 + dice.below(runsMax));
        else for (let left = dice.below(runsMax); left > 0; left--) readers.end(dice.below(1 + readers.runs.length));
        for (let worker = 1; worker <= workers; worker++) {
          const callers = new Set(readers.runs.filter((run) => run.worker === worker).map((run) => run.caller));
          const free = readers.freeOn(worker);
          must(free >= runsMax / (callers.size + 1) - callers.size, `${free} free beside ${callers.size} callers`);
          if (free === 0) continue;
          for (const waiting of new Set(readers.waiting.values())) {
            overtaken += 1;
            const held = readers.of(waiting, worker);
            must(held > 0 && !mayBeginRun('share', held, free, runsMax), `${waiting} has ${held} and waits`);
          }
        }
      }
    }
    expect(overtaken).toBeGreaterThan(100);
  });
});
