import { openMemoryJournal } from '@millrace/store';
import { expect, test } from 'vitest';
import { type EarlierEnd, RestoreGuard, type WatchedStream } from './restore-guard.ts';

const quiet: WatchedStream = { counts: { runningSteps: 0, pendingInputs: 0 } };
const never = new Promise<never>(() => {});

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** One process after another on the same journal. */
function processes() {
  const journal = openMemoryJournal();
  const alarms: (() => void)[] = [];
  const next = (earlierEnd: EarlierEnd, deathsMax = 3) =>
    new RestoreGuard({
      journal,
      deathsMax,
      earlierEnd,
      clock: {
        alarm: (_ms, callback) => {
          alarms.push(callback);
          return () => {};
        },
        endOfTurn: (callback) => void setImmediate(callback),
      },
    });
  const note = async (): Promise<unknown> => JSON.parse((await journal.readNote('restores')) ?? 'null');
  return { journal, next, note, alarms };
}

/** The process dies while it restores this stream. */
async function dieRestoring(guard: RestoreGuard, stream: string): Promise<void> {
  void guard.run(stream, () => never);
  await settle();
}

test('the journal says that streams are being restored, as long as they are', async () => {
  const { next, note } = processes();
  const guard = next('unknown');
  let finish = (_stream: WatchedStream): void => {};
  const first = guard.run('a', () => new Promise<WatchedStream>((resolve) => (finish = resolve)));
  await guard.run('b', async () => quiet);
  await settle();
  expect(await note()).toEqual({ deaths: {} });
  finish(quiet);
  await first;
  await settle();
  expect(await note()).toBeNull();
});

test('a stream counts as being restored until its first step is done', async () => {
  const { next, note, alarms } = processes();
  const stream = { counts: { runningSteps: 1, pendingInputs: 2 } };
  await next('unknown').run('a', async () => stream);
  await settle();
  expect(await note()).toEqual({ deaths: {} });
  stream.counts = { runningSteps: 1, pendingInputs: 1 };
  for (const alarm of alarms.splice(0)) alarm();
  await settle();
  expect(await note()).toBeNull();
});

test('after a crash among several streams each is restored alone, and the one that kills is found', async () => {
  const { next, note } = processes();
  await dieRestoring(next('unknown'), 'bad');
  for (let death = 1; death <= 3; death++) {
    const guard = next('crashed');
    expect(await guard.isPoison('bad')).toBe(false);
    await guard.run('good', async () => quiet);
    await settle();
    await dieRestoring(guard, 'bad');
    expect(await note()).toMatchObject({ alone: 'bad' });
  }
  const guard = next('crashed');
  expect([await guard.isPoison('bad'), await guard.isPoison('good')]).toEqual([true, false]);
  expect(await guard.deathsOf('bad')).toBe(3);
  await guard.forget('bad');
  expect(await note()).toBeNull();
});

test('while one is restored alone, others wait', async () => {
  const { next } = processes();
  await dieRestoring(next('unknown'), 'x');
  const guard = next('crashed');
  const order: string[] = [];
  await dieRestoring(guard, 'a');
  void guard.run('b', async () => {
    order.push('b');
    return quiet;
  });
  await settle();
  expect(order).toEqual([]);
});

test('when all are restored, several are restored at once again, suspects apart', async () => {
  const { next, note } = processes();
  await dieRestoring(next('unknown'), 'x');
  const guard = next('crashed');
  await guard.run('a', async () => quiet);
  await settle();
  guard.noteAllRestored();
  await dieRestoring(guard, 'b');
  await guard.run('c', async () => quiet);
  expect(await note()).toEqual({ deaths: {} });
});

test('kills from outside never count, however often, and leave the count as it is', async () => {
  const { next } = processes();
  await dieRestoring(next('unknown'), 'bad');
  await dieRestoring(next('crashed'), 'bad');
  await dieRestoring(next('crashed'), 'bad');
  for (let kill = 0; kill < 10; kill++) await dieRestoring(next('killed'), 'bad');
  expect(await next('killed').deathsOf('bad')).toBe(1);
});

test('a stream that was restored, or could not be for a reason that the server tells, is no longer suspected', async () => {
  const { next, note } = processes();
  await dieRestoring(next('unknown'), 'a');
  await dieRestoring(next('crashed'), 'a');
  const guard = next('crashed');
  expect(await guard.deathsOf('a')).toBe(1);
  await expect(guard.run('a', () => Promise.reject(new Error('its files cannot be read')))).rejects.toThrow('files');
  await settle();
  expect([await guard.deathsOf('a'), await note()]).toEqual([0, null]);
});

test('no more than 16 suspects are remembered', async () => {
  const { next } = processes();
  await dieRestoring(next('unknown'), 'x');
  for (let stream = 0; stream < 20; stream++) await dieRestoring(next('crashed'), `s${stream}`);
  const guard = next('crashed');
  const counts = await Promise.all(Array.from({ length: 20 }, (_, stream) => guard.deathsOf(`s${stream}`)));
  expect(counts.filter((count) => count > 0)).toHaveLength(16);
  expect(counts.at(-1)).toBe(1);
});
