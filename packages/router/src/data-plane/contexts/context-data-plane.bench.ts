/** What naming costs a request: one whose model has no traffic should not notice that there is such a thing. */
import { neverCancelled } from '@millrace/protocol';
import { openMemoryStore } from '@millrace/store';
import { bench, describe } from 'vitest';
import { Contexts } from '../../catalogue/contexts/contexts.ts';
import { TrafficTable } from '../../catalogue/contexts/traffic-table.ts';
import { CatalogueDouble } from '../../catalogue/testing/catalogue-double.ts';
import { systemClock } from '../clock.ts';
import type { DataPlane, InferAnswer, InferRequest } from '../infer.ts';
import { SlicedWork } from '../sliced-work/sliced-work.ts';
import { ContextDataPlane } from './context-data-plane.ts';
import { ShadowTraffic } from './shadow-traffic.ts';

const answer = Promise.resolve({} as InferAnswer);
const inner: DataPlane = { infer: () => answer, noteRefusal: () => {} };
const catalogue = new CatalogueDouble('split').set('1', 'ready').set('2', 'ready');
const traffic = await TrafficTable.open({ store: await openMemoryStore(), catalogue, onUnreadable: () => {} });
await traffic.changeTraffic('split', {
  labels: new Map([['stable', '1']]),
  split: [
    { version: '1', weight: 9 },
    { version: '2', weight: 1 },
  ],
});
const plane = new ContextDataPlane({
  dataPlane: inner,
  names: new Contexts({ catalogue, traffic }),
  shadows: new ShadowTraffic({
    dataPlane: inner,
    sliced: new SlicedWork(systemClock),
    limits: { requestsMax: 0, bytesMax: 0, comparedBytesMax: 0, timeoutMs: 0 },
    lowestPriority: () => 1,
    onOutcome: () => {},
  }),
  takeVersionHolding: () => undefined,
  random: () => 0.5,
});
const request = (model: string): InferRequest => ({
  model,
  version: '',
  id: '',
  parameters: new Map(),
  inputs: [],
  outputs: [],
  timeoutMs: undefined,
  queueTimeoutMs: undefined,
  priority: 0,
  sequence: undefined,
  caller: '',
});
const [plain, split, labelled] = ['plain', 'split', 'split@stable'].map(request) as [
  InferRequest,
  InferRequest,
  InferRequest,
];

describe('budget: 0.1 µs a request without traffic, 1 µs with a split or a label', () => {
  bench('handed straight to the data plane', () => {
    void inner.infer(plain, neverCancelled);
  });
  bench('a model without traffic', () => {
    void plane.infer(plain, neverCancelled);
  });
  bench('a split', () => {
    void plane.infer(split, neverCancelled);
  });
  bench('a label', () => {
    void plane.infer(labelled, neverCancelled);
  });
});
