/** The resume window over restarts of the process. */
import { expect, test } from 'vitest';
import { StreamHarness } from './testing/stream-harness.ts';

const resumeWindowMs = 120_000;
const opened = (): StreamHarness => new StreamHarness().attach().commit();

const detached = { kind: 'detached', link: 1 } as const;

test('since when there is no client is journaled, and that there is one again', () => {
  const harness = opened();
  expect(harness.idle).toBeUndefined();
  harness.wait(1000).handle(detached);
  expect(harness.idle).toEqual({ sinceMs: 1000, isExtended: false });
  harness.wait(5000).attach(2);
  expect(harness.idle).toBeUndefined();
});

test.each(['left before it was attached', 'was refused'])(
  'a stream whose first client %s is without one from the beginning, also over a restart',
  (how) => {
    const harness = new StreamHarness().commit().wait(1000);
    // Nothing of a new stream can be resumed.
    if (how === 'was refused') harness.attach(1, 7);
    else harness.handle(detached);
    expect(harness.idle).toEqual({ sinceMs: 0, isExtended: false });
    harness.take();
    expect(harness.wait(60_000).restart().machine.resumableUntil).toBe(resumeWindowMs);
  },
);

test('the window goes on over restarts, however many', () => {
  const harness = opened().handle(detached);
  harness.take();
  for (let restart = 0; restart < 11; restart++) expect(harness.wait(10_000).restart().take()).toEqual([]);
  expect(harness.machine.resumableUntil).toBe(resumeWindowMs);
  expect(harness.wait(10_000).take()).toEqual(['append ending expired stream-expired 0']);
});

test('a stream that had a client until its process died has the whole window, once', () => {
  const harness = opened().wait(50_000).restart();
  expect(harness.idle).toEqual({ sinceMs: 50_000, isExtended: false });
  harness.wait(60_000).restart();
  expect(harness.machine.resumableUntil).toBe(50_000 + resumeWindowMs);
});

test('after a long time without a process there are 10 s to come back, and no more after the next restart', () => {
  const harness = opened().handle(detached);
  harness.nowMs = 3_000_000;
  harness.take();
  expect(harness.restart().take()).toEqual([]);
  expect(harness.idle?.isExtended).toBe(true);
  expect(harness.machine.resumableUntil).toBe(3_010_000);
  harness.nowMs += 6000;
  expect(harness.restart().take()).toEqual([]);
  expect(harness.machine.resumableUntil).toBe(3_010_000);
  harness.nowMs += 6000;
  expect(harness.restart().take()).toEqual(['append ending expired stream-expired 0']);
});

test('a client that came back in these 10 s begins a new window when it leaves', () => {
  const harness = opened().handle(detached);
  harness.nowMs = 3_000_000;
  harness.restart().attach(1).wait(60_000).handle(detached);
  expect(harness.idle).toEqual({ sinceMs: 3_060_000, isExtended: false });
  expect(harness.restart().machine.resumableUntil).toBe(3_060_000 + resumeWindowMs);
});

test('a clock that was set back does not prolong the window beyond its length', () => {
  const harness = opened().wait(100_000).handle(detached);
  harness.nowMs = 20_000;
  expect(harness.restart().machine.resumableUntil).toBe(20_000 + resumeWindowMs);
});
