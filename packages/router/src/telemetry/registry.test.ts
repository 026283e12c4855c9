import { expect, test } from 'vitest';
import { MetricsRegistry } from './registry.ts';

const spec = { name: 'a_total', type: 'counter', help: 'A.', labels: ['model', 'version'] } as const;

test('binding the same labels twice gives the same series', () => {
  const family = new MetricsRegistry().register(spec);
  family.bind('m', '1').add(1);
  family.bind('m', '1').add(1);
  family.bind('m', '2').add(1);
  expect([...family.entries()].map(({ labelValues, series }) => [...labelValues, series.value])).toEqual([
    ['m', '1', 2],
    ['m', '2', 1],
  ]);
});

test('label values with the same concatenation are still different series', () => {
  const family = new MetricsRegistry().register(spec);
  expect(family.bind('a', '1:b')).not.toBe(family.bind('a1:', 'b'));
  expect(family.bind('', '1:x')).not.toBe(family.bind('1:x', ''));
});

test('a full family returns series that work but are not shown, and counts them', () => {
  const family = new MetricsRegistry({ seriesMax: 2 }).register(spec);
  family.bind('a', '1');
  family.bind('b', '1');
  family.bind('c', '1').add(1);
  expect([...family.entries()]).toHaveLength(2);
  expect(family.seriesDropped).toBe(1);
  family.remove('a', '1');
  family.bind('c', '1');
  expect([...family.entries()].map(({ labelValues }) => labelValues[0])).toEqual(['b', 'c']);
});

test('a label of a closed set is bound and removed as a whole, and counts once against the maximum of series', () => {
  const family = new MetricsRegistry({ seriesMax: 2 }).register({
    ...spec,
    labels: ['model', 'code'],
    values: ['x', 'y'],
  });
  for (const model of ['a', 'b', 'c']) family.bindAll(model);
  expect([...family.entries()].map(({ labelValues }) => labelValues.join(' '))).toEqual(['a x', 'a y', 'b x', 'b y']);
  expect(family.seriesDropped).toBe(2);
  family.removeAll('a');
  expect([...family.entries()].map(({ labelValues }) => labelValues.join(' '))).toEqual(['b x', 'b y']);
});

test('programming errors are caught when a metric is registered or bound', () => {
  const registry = new MetricsRegistry();
  const family = registry.register(spec);
  expect(() => registry.register(spec)).toThrow('registered twice');
  expect(() => registry.register({ ...spec, name: 'a-b' })).toThrow('metric name');
  expect(() => registry.register({ ...spec, name: 'b', labels: ['__x'] })).toThrow('label name');
  expect(() => registry.register({ ...spec, name: 'c', type: 'histogram' })).toThrow('no buckets');
  expect(() => registry.register({ ...spec, name: 'd', type: 'histogram', buckets: [2, 1] })).toThrow('ascend');
  expect(() => family.bind('only-one')).toThrow('label values');
});

test('collectors run before a scrape until they are stopped', async () => {
  const registry = new MetricsRegistry();
  let calls = 0;
  const stop = registry.onCollect(async () => {
    await Promise.resolve();
    calls += 1;
  });
  await registry.collect();
  stop();
  await registry.collect();
  expect(calls).toBe(1);
});
