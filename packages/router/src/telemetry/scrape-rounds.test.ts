import { expect, test } from 'vitest';
import { MetricsRegistry } from './registry.ts';
import { ScrapeRounds } from './scrape-rounds.ts';

const text = (body: Uint8Array): string => new TextDecoder().decode(body);

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A registry whose collection ends when the test says so. */
function heldRegistry() {
  const registry = new MetricsRegistry();
  const counter = registry.register({ name: 'a_total', type: 'counter', help: 'A.', labels: [] }).bind();
  const ends: ((error?: Error) => void)[] = [];
  registry.onCollect(
    () =>
      new Promise<void>((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve() : reject(error)));
      }),
  );
  return { rounds: new ScrapeRounds(registry), counter, ends };
}

test('scrapes that arrive during a collection share the next one, and show what was counted before them', async () => {
  const { rounds, counter, ends } = heldRegistry();
  const first = rounds.scrape('prometheus');
  expect(ends).toHaveLength(1);
  counter.add(1);
  const later = Array.from({ length: 20 }, () => rounds.scrape('prometheus'));
  const other = rounds.scrape('openmetrics');
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await first;
  await turn();
  expect(ends).toHaveLength(2);
  ends[1]?.();
  const bodies = await Promise.all(later);
  expect(text(bodies[0] as Uint8Array)).toContain('a_total 1\n');
  expect(new Set(bodies).size).toBe(1);
  expect(text(await other)).toContain('# EOF');
  expect(ends).toHaveLength(2);
});

test('a collection that fails fails its scrapes, and not those after them', async () => {
  const { rounds, ends } = heldRegistry();
  const failed = expect(rounds.scrape('prometheus')).rejects.toThrow('no');
  const later = rounds.scrape('prometheus');
  ends[0]?.(new Error('no'));
  await failed;
  await turn();
  ends[1]?.();
  expect(text(await later)).toContain('a_total 0\n');
});
