import { type MetadataStore, openMemoryStore } from '@millrace/store';
import { expect, test } from 'vitest';
import { CatalogueDouble } from '../testing/catalogue-double.ts';
import { TrafficCatalogue } from './traffic-catalogue.ts';
import { TrafficTable } from './traffic-table.ts';

const never = (): number => {
  throw new Error('no random number was expected');
};
const failure = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

async function trafficHarness(store?: MetadataStore) {
  const models = new CatalogueDouble('mill')
    .set('1', 'ready')
    .set('2', 'ready')
    .set('3', 'loading', 'the model is loading')
    .set('9', 'failed', 'the file is broken');
  const unreadable: string[] = [];
  const kept = store ?? (await openMemoryStore());
  const traffic = await TrafficTable.open({
    store: kept,
    catalogue: models,
    onUnreadable: (key) => unreadable.push(key),
  });
  return { models, store: kept, traffic, resolver: new TrafficCatalogue({ catalogue: models, traffic }), unreadable };
}

const labels = (entries: Record<string, string | undefined>) => new Map(Object.entries(entries));

test('a name without traffic is left to the catalogue', async () => {
  const { resolver } = await trafficHarness();
  expect(resolver.isResolvable('mill')).toBe(false);
  expect(resolver.mustFind('mill', '').version).toBe('2');
  expect(resolver.readyVersions('mill')).toEqual(['1', '2']);
  expect(resolver.resolve('mill', '1', never)).toMatchObject({ model: 'mill', version: '1' });
});

test('a version or a label in the name resolves to that version under the real name', async () => {
  const { resolver, traffic } = await trafficHarness();
  await traffic.changeTraffic('mill', { labels: labels({ stable: '1' }) });
  expect(resolver.mustFind('mill:1', '')).toMatchObject({ name: 'mill', version: '1' });
  expect(resolver.mustFind('mill@stable', '')).toMatchObject({ name: 'mill', version: '1' });
  expect(resolver.mustFind('mill@stable', '1').version).toBe('1');
  expect(resolver.readyVersions('mill@stable')).toEqual(['1']);
  expect(resolver.readyVersions('mill:3')).toEqual([]);
  expect(resolver.mustFind('mill', '').version).toBe('2');
});

test('unknown labels are refused with the list of labels; labels of a version that is not ready with its reason', async () => {
  const { resolver, traffic } = await trafficHarness();
  const find = (name: string, version = '') => expect(() => resolver.mustFind(name, version));
  find('mill@stable').toThrow(failure('unknown-model', "label 'stable' of model 'mill'; it has none"));
  await traffic.changeTraffic('mill', { labels: labels({ stable: '1', next: '3' }) });
  find('mill@canary').toThrow(failure('unknown-model', "it has 'next', 'stable'"));
  find('nobody@stable').toThrow(failure('unknown-model', "'nobody' is not found"));
  find('mill@next').toThrow(failure('model-not-ready', 'version 3'));
  find('mill@stable', '2').toThrow(failure('invalid-request', "label 'stable' stands for version 1, and version 2"));
  find('mill:7').toThrow(failure('unknown-model', 'version 7 is not found'));
});

test('a split decides where neither version nor label is named', async () => {
  const { resolver, traffic } = await trafficHarness();
  await traffic.changeTraffic('mill', {
    labels: labels({ stable: '1' }),
    split: [
      { version: '1', weight: 3 },
      { version: '2', weight: 1 },
    ],
  });
  expect(resolver.resolve('mill', '', () => 0.74)).toEqual({ model: 'mill', version: '1' });
  expect(resolver.resolve('mill', '', () => 0.75)).toEqual({ model: 'mill', version: '2' });
  expect(resolver.resolve('mill', '2', never).version).toBe('2');
  expect(resolver.resolve('mill@stable', '', never).version).toBe('1');
  expect(resolver.mustFind('mill', '').version).toBe('1');
});

test('the share of a version that is not ready is taken by the others, and given back', async () => {
  const { resolver, traffic, models } = await trafficHarness();
  await traffic.changeTraffic('mill', {
    split: [
      { version: '3', weight: 98 },
      { version: '1', weight: 1 },
      { version: '2', weight: 1 },
    ],
  });
  const drawn = (random: number) => resolver.resolve('mill', '', () => random).version;
  expect([drawn(0), drawn(0.49), drawn(0.5)]).toEqual(['1', '1', '2']);
  expect(resolver.mustFind('mill', '').version).toBe('1');
  models.set('3', 'ready');
  expect([drawn(0), drawn(0.97), drawn(0.98), drawn(0.99)]).toEqual(['3', '3', '1', '2']);
  for (const version of ['1', '2', '3']) models.set(version, 'failed', 'out of memory');
  expect(() => resolver.mustFind('mill', '')).toThrow(failure('model-not-ready', 'version 3'));
  expect(drawn(0.99)).toBe('3');
});

test('a change must name an existing model and versions that can be served', async () => {
  const { traffic } = await trafficHarness();
  const change = (version: string) => traffic.changeTraffic('mill', { labels: labels({ a: version }) });
  await expect(change('7')).rejects.toEqual(
    failure('invalid-request', 'there is no such version; there are 1, 2, 3, 9'),
  );
  await expect(change('9')).rejects.toEqual(failure('invalid-request', 'it cannot be served: the file is broken'));
  await expect(change('3')).resolves.toMatchObject({ labels: labels({ a: '3' }) });
  await expect(traffic.changeTraffic('nobody', {})).rejects.toEqual(failure('unknown-model', 'nobody'));
  expect(() => traffic.traffic('nobody')).toThrow(failure('unknown-model', 'nobody'));
});

test('each change has a revision, and one that expects another revision is a conflict', async () => {
  const { traffic } = await trafficHarness();
  expect(traffic.traffic('mill').revision).toBe(0);
  const first = await traffic.changeTraffic('mill', { labels: labels({ a: '1' }) }, 0);
  expect(traffic.traffic('mill')).toEqual(first);
  const second = await traffic.changeTraffic('mill', { labels: labels({ b: '1' }) }, first.revision);
  expect(second.revision).toBeGreaterThan(first.revision);
  const late = traffic.changeTraffic('mill', { labels: labels({ a: '2' }) }, first.revision);
  await expect(late).rejects.toEqual(failure('conflict', `has revision ${second.revision} now`));
  expect(traffic.traffic('mill')).toEqual(second);
  expect(traffic.labelsOf('mill', '1')).toEqual(['a', 'b']);
});

test('two routers on one store agree, and no change is lost between them', async () => {
  const one = await trafficHarness();
  const other = await trafficHarness(one.store);
  const changes = Array.from({ length: 12 }, (_, index) => {
    const table = index % 2 === 0 ? one.traffic : other.traffic;
    return table.changeTraffic('mill', { labels: labels({ [`label-${index}`]: '1' }) });
  });
  await Promise.all(changes);
  expect(one.traffic.traffic('mill').labels.size).toBe(12);
  expect(other.traffic.traffic('mill')).toEqual(one.traffic.traffic('mill'));
  expect(other.resolver.mustFind('mill@label-0', '').version).toBe('1');
});

test('an unreadable record is reported and ignored, and can be replaced', async () => {
  const { store, traffic, unreadable } = await trafficHarness();
  await store.put('traffic/mill', new TextEncoder().encode('{"labels":'));
  expect(unreadable).toEqual(['traffic/mill']);
  expect(traffic.traffic('mill').labels.size).toBe(0);
  await traffic.changeTraffic('mill', { labels: labels({ a: '1' }) });
  expect(traffic.traffic('mill').labels).toEqual(labels({ a: '1' }));
});

test('a store that fails is reported as an internal error', async () => {
  const { store, traffic } = await trafficHarness();
  await store.close();
  const change = traffic.changeTraffic('mill', { labels: labels({ a: '1' }) });
  await expect(change).rejects.toEqual(failure('internal', 'the metadata store failed'));
});

test('labels and splits of unloaded versions are not ready, and can be removed', async () => {
  const { resolver, traffic, models } = await trafficHarness();
  await traffic.changeTraffic('mill', { labels: labels({ stable: '2' }), split: [{ version: '2', weight: 1 }] });
  models.remove('2');
  for (const ask of [resolver.mustFind.bind(resolver), (name: string) => resolver.resolve(name, '', () => 0)]) {
    expect(() => ask('mill@stable', '')).toThrow(
      failure('model-not-ready', "its label 'stable' stands for version 2, which is not loaded"),
    );
    expect(() => ask('mill', '')).toThrow(failure('model-not-ready', 'version 2, which is not loaded'));
  }
  expect(resolver.mustFind('mill:1', '').version).toBe('1');
  for (const version of ['1', '3', '9']) models.remove(version);
  expect(() => resolver.mustFind('mill@stable', '')).toThrow(failure('unknown-model', "'mill' is not found"));
  expect(traffic.traffic('mill').labels).toEqual(labels({ stable: '2' }));
  await expect(traffic.changeTraffic('mill', { labels: labels({ stable: '1' }) })).rejects.toEqual(
    failure('invalid-request', 'there are none'),
  );
  const change = { labels: labels({ stable: undefined }), split: [] };
  expect(await traffic.changeTraffic('mill', change)).toMatchObject({ labels: new Map(), split: [] });
});
