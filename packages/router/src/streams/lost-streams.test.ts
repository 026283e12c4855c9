import { expect, test } from 'vitest';
import { LostStreams } from './lost-streams.ts';

function lostStreams(restore: (id: string) => Promise<unknown>) {
  const alarms: { ms: number; ring: () => void }[] = [];
  const lost = new LostStreams({
    restore,
    clock: {
      alarm: (ms, ring) => {
        const alarm = { ms, ring };
        alarms.push(alarm);
        return () => void alarms.splice(alarms.indexOf(alarm), 1);
      },
    },
  });
  const ring = async (): Promise<number> => {
    const [alarm] = alarms.splice(0, 1);
    alarm?.ring();
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    return alarm?.ms ?? 0;
  };
  return { lost, alarms, ring };
}

test('streams are taken over again after a pause, all that were lost meanwhile', async () => {
  const restored: string[] = [];
  const { lost, alarms, ring } = lostStreams(async (id) => restored.push(id));
  for (const id of ['a', 'b', 'a']) lost.add(id);
  expect(alarms).toHaveLength(1);
  expect(await ring()).toBe(1000);
  expect([restored, alarms.length]).toEqual([['a', 'b'], 0]);
});

test('what cannot be taken over is tried again after growing pauses, 12 times', async () => {
  let tries = 0;
  const { lost, alarms, ring } = lostStreams(async () => {
    tries += 1;
    throw new Error('the disk is full');
  });
  lost.add('a');
  const pauses: number[] = [];
  while (alarms.length > 0) pauses.push(await ring());
  expect(tries).toBe(12);
  expect(pauses.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
  expect(pauses.at(-1)).toBe(60_000);
});

test('nothing is tried by a router that leaves', async () => {
  const { lost, alarms } = lostStreams(async () => {});
  lost.add('a');
  lost.stop();
  lost.add('b');
  expect(alarms).toEqual([]);
});
