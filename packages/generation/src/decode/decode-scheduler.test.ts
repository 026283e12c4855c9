import { expect, test } from 'vitest';
import { cacheTokensFor, type DecodeConfig, resolveDecodeConfig, sequenceTokensMax } from './decode-config.ts';
import { DecodeScheduler, type DecodeStep } from './decode-scheduler.ts';

function schedulerWith(options: Partial<DecodeConfig> = {}): DecodeScheduler {
  return new DecodeScheduler(resolveDecodeConfig({ tokenBytes: 1, ...options }));
}

function textOf(step: DecodeStep | undefined): string {
  if (step === undefined) return 'nothing';
  if (step.kind === 'prefill') return `prefill ${step.id} ${step.from}-${step.to} on ${step.cacheTokens}`;
  return step.kind === 'token' ? `token ${step.ids.join()} on ${step.cacheTokens}` : `drop ${step.id}`;
}

/** Takes steps until nothing is wanted. A sequence that is at its end gets another token, and is removed when it has `tokensMax`. */
function run(scheduler: DecodeScheduler, lengths: Map<number, number>, tokensMax: number, stepsMax = 1000): string[] {
  const steps: string[] = [];
  for (let count = 0; count < stepsMax; count++) {
    const step = scheduler.next();
    if (step === undefined) return steps;
    steps.push(textOf(step));
    if (step.kind === 'drop') continue;
    for (const id of step.kind === 'token' ? step.ids : [step.id]) {
      const tokens = lengths.get(id) ?? 0;
      if (!scheduler.isAtEnd(id)) continue;
      if (tokens === tokensMax) {
        scheduler.remove(id);
      } else {
        scheduler.append(id);
        lengths.set(id, tokens + 1);
      }
    }
  }
  throw new Error(`more than ${stepsMax} steps: ${steps.slice(-5).join('; ')}`);
}

test('a prompt is read in pieces, then token after token', () => {
  const scheduler = schedulerWith();
  scheduler.add(1, 130);
  expect(run(scheduler, new Map([[1, 130]]), 132)).toEqual([
    'prefill 1 0-64 on 0',
    'prefill 1 64-128 on 64',
    'prefill 1 128-130 on 128',
    'token 1 on 256',
    'token 1 on 256',
  ]);
});

test('between two pieces of a prompt every other sequence takes its step', () => {
  const scheduler = schedulerWith();
  scheduler.add(1, 3);
  expect(textOf(scheduler.next())).toBe('prefill 1 0-3 on 0');
  scheduler.append(1);
  scheduler.add(2, 200);
  const steps: string[] = [];
  for (let count = 0; count < 6; count++) {
    const step = scheduler.next();
    steps.push(textOf(step));
    if (step?.kind === 'token') for (const id of step.ids) if (scheduler.isAtEnd(id)) scheduler.append(id);
  }
  expect(steps).toEqual([
    'token 1 on 64',
    'prefill 2 0-64 on 0',
    'token 1 on 64',
    'prefill 2 64-128 on 64',
    'token 1 on 64',
    'prefill 2 128-192 on 128',
  ]);
});

test('short prompts are read one after the other, as long as they take no more time than one piece', () => {
  const scheduler = schedulerWith();
  for (let id = 1; id <= 6; id++) scheduler.add(id, 5);
  scheduler.add(7, 64);
  const steps: string[] = [];
  for (let count = 0; count < 10; count++) {
    const step = scheduler.next();
    steps.push(textOf(step));
    if (step === undefined || step.kind === 'drop') continue;
    for (const id of step.kind === 'token' ? step.ids : [step.id]) if (scheduler.isAtEnd(id)) scheduler.append(id);
  }
  expect(steps).toEqual([
    ...[1, 2, 3, 4].map((id) => `prefill ${id} 0-5 on 0`),
    'token 1,2,3,4 on 64',
    ...[5, 6].map((id) => `prefill ${id} 0-5 on 0`),
    // The piece of the seventh does not fit any more, and is not cut.
    'token 1,2,3,4,5,6 on 64',
    'prefill 7 0-64 on 0',
    'token 1,2,3,4,5,6,7 on 64',
  ]);
});

test('a newcomer delays the others by one piece of its prompt at most, on a simulated clock', () => {
  const prefillTokensMax = 64;
  const scheduler = schedulerWith({ prefillTokensMax, rowsMax: 4 });
  // A token that is read takes 1 ms, alone or in company, and a run that reads a prompt as long as 12 tokens more.
  let now = 0;
  let random = 1;
  const below = (limit: number): number => {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    return (random >>> 8) % limit;
  };
  const texts = new Map<number, { length: number; readonly end: number; tokenAt: number | undefined }>();
  let longestMs = 0;
  let newcomers = 0;
  for (let id = 0; newcomers < 200 || texts.size > 0; ) {
    if (newcomers < 200 && texts.size < 12 && below(4) === 0) {
      newcomers += 1;
      id += 1;
      const length = 1 + below(newcomers % 2 === 0 ? 400 : 20);
      texts.set(id, { length, end: length + 1 + below(60), tokenAt: undefined });
      scheduler.add(id, length);
    }
    const step = scheduler.next();
    if (step === undefined || step.kind === 'drop') continue;
    now += step.kind === 'prefill' ? step.to - step.from + 12 : 1;
    for (const one of step.kind === 'token' ? step.ids : [step.id]) {
      const text = texts.get(one);
      if (text === undefined || !scheduler.isAtEnd(one)) continue;
      if (text.tokenAt !== undefined) longestMs = Math.max(longestMs, now - text.tokenAt);
      text.tokenAt = now;
      if (text.length === text.end) {
        scheduler.remove(one);
        texts.delete(one);
      } else {
        scheduler.append(one);
        text.length += 1;
      }
    }
  }
  // Between two tokens of a text lies one piece, and a step of every other: twelve texts with caches of up to five lengths.
  expect(longestMs).toBeGreaterThanOrEqual(prefillTokensMax);
  expect(longestMs).toBeLessThanOrEqual(prefillTokensMax + 12 + 2 * 12);
});

test('sequences with caches of one length share a run, up to rowsMax of them', () => {
  const scheduler = schedulerWith({ rowsMax: 2 });
  const lengths = new Map<number, number>();
  for (const [id, tokens] of [
    [1, 3],
    [2, 60],
    [3, 5],
    [4, 65],
  ] as const) {
    scheduler.add(id, tokens);
    lengths.set(id, tokens);
  }
  const prompts: string[] = [];
  while (lengths.size > 0) {
    const step = scheduler.next();
    if (step?.kind !== 'prefill') continue;
    prompts.push(textOf(step));
    if (scheduler.isAtEnd(step.id)) lengths.delete(step.id);
  }
  expect(prompts).toHaveLength(5);
  for (const id of [1, 2, 3, 4]) scheduler.append(id);
  expect([scheduler.next(), scheduler.next(), scheduler.next(), scheduler.next()].map(textOf)).toEqual([
    'token 1,2 on 64',
    'token 3 on 64',
    'token 4 on 128',
    'nothing',
  ]);
});

test('without padding only equal lengths share a run', () => {
  const config = resolveDecodeConfig({ tokenBytes: 1, layout: 'exact' });
  expect([0, 1, 7, 65].map((tokens) => cacheTokensFor(tokens, config))).toEqual([0, 1, 7, 65]);
  const padded = resolveDecodeConfig({ tokenBytes: 1 });
  expect([0, 1, 64, 65, 129].map((tokens) => cacheTokensFor(tokens, padded))).toEqual([0, 64, 64, 128, 256]);
});

test('a sequence that is not wanted takes no step, and keeps its cache', () => {
  const scheduler = schedulerWith();
  scheduler.add(1, 3);
  scheduler.next();
  scheduler.append(1);
  scheduler.setWanted(1, false);
  expect(scheduler.next()).toBeUndefined();
  expect(scheduler.counts).toMatchObject({ running: 1, cacheBytes: 64 });
  scheduler.setWanted(1, true);
  expect(textOf(scheduler.next())).toBe('token 1 on 64');
});

test('when the caches are full the youngest gives its own up, and reads its tokens again with the same runs', () => {
  const scheduler = schedulerWith({ cacheBytesMax: 192 });
  scheduler.add(1, 64);
  scheduler.add(2, 60);
  const lengths = new Map([
    [1, 64],
    [2, 60],
  ]);
  const steps = run(scheduler, lengths, 128);
  const ofTwo = steps
    .filter((step) => /^prefill 2|^drop 2|^token (1,)?2 /.test(step))
    .map((step) => step.replace('1,', ''));
  const dropped = ofTwo.indexOf('drop 2');
  expect(dropped).toBeGreaterThan(0);
  const before = ofTwo.slice(0, dropped);
  expect(ofTwo.slice(dropped + 1, dropped + 1 + before.length)).toEqual(before);
  expect([...lengths.values()]).toEqual([128, 128]);
  expect(scheduler.counts.preemptions).toBeGreaterThan(0);
});

test('a prompt waits until there is memory for it, and takes that of a sequence that is not wanted', () => {
  const scheduler = schedulerWith({ cacheBytesMax: 128 });
  scheduler.add(1, 64);
  scheduler.next();
  scheduler.append(1);
  scheduler.add(2, 100);
  expect(textOf(scheduler.next())).toBe('token 1 on 64');
  expect(scheduler.next()).toBeUndefined();
  scheduler.append(1);
  scheduler.setWanted(1, false);
  expect([scheduler.next(), scheduler.next()].map(textOf)).toEqual(['drop 1', 'prefill 2 0-64 on 0']);
  scheduler.remove(2);
  scheduler.setWanted(1, true);
  expect(textOf(scheduler.next())).toBe('prefill 1 0-64 on 0');
});

test('the longest sequence is one whose padded cache fits', () => {
  expect(sequenceTokensMax(resolveDecodeConfig({ tokenBytes: 1, cacheBytesMax: 300 }))).toBe(256);
  expect(sequenceTokensMax(resolveDecodeConfig({ tokenBytes: 1, cacheBytesMax: 300, layout: 'exact' }))).toBe(300);
  expect(sequenceTokensMax(resolveDecodeConfig({ tokenBytes: 1, cacheBytesMax: 10 }))).toBe(0);
  expect(sequenceTokensMax(resolveDecodeConfig({ tokenBytes: 0 }))).toBe(Number.POSITIVE_INFINITY);
});
