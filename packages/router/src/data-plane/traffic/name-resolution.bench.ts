/** The cost of name resolution for a request: close to nothing for a model without traffic settings. */
import { openMemoryStore } from '@millrace/store';
import { bench, describe } from 'vitest';
import { CatalogueDouble } from '../../catalogue/testing/catalogue-double.ts';
import { TrafficCatalogue } from '../../catalogue/traffic/traffic-catalogue.ts';
import { TrafficTable } from '../../catalogue/traffic/traffic-table.ts';
import type { InferRequest } from '../infer.ts';
import type { KnownModels } from '../known-models.ts';
import { RetiringModels } from '../retiring-models.ts';
import { inferRequest } from '../testing/requests.ts';
import { NameResolution } from './name-resolution.ts';

const catalogue = new CatalogueDouble('split').set('1', 'ready').set('2', 'ready');
const traffic = await TrafficTable.open({ store: await openMemoryStore(), catalogue, onUnreadable: () => {} });
await traffic.changeTraffic('split', {
  labels: new Map([['stable', '1']]),
  split: [
    { version: '1', weight: 9 },
    { version: '2', weight: 1 },
  ],
});
const resolution = new NameResolution({
  names: new TrafficCatalogue({ catalogue, traffic }),
  models: { readyVersions: () => [], takeModel: () => undefined } as unknown as KnownModels,
  retiring: new RetiringModels(),
  random: () => 0.5,
});
const [plain, split, labelled] = ['plain', 'split', 'split@stable'].map((model) => inferRequest({ model })) as [
  InferRequest,
  InferRequest,
  InferRequest,
];
const resolve = (request: InferRequest): unknown =>
  resolution.isNeededFor(request) ? resolution.shadowsOf(resolution.resolved(request)) : request;

describe('budget: 0.1 µs a request without traffic, 1 µs with a split or a label', () => {
  bench('a model without traffic', () => {
    resolve(plain);
  });
  bench('a split', () => {
    resolve(split);
  });
  bench('a label', () => {
    resolve(labelled);
  });
});
