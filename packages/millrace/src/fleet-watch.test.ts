import { resolveModelPolicy } from '@millrace/core';
import { MetricsObserver, MetricsRegistry, renderMetrics, ServedModel } from '@millrace/router/internal';
import { beforeEach, expect, test } from 'vitest';
import { resolveConfig } from './config/resolve-config.ts';
import { FleetWatch } from './fleet-watch.ts';
import { createLogger } from './logging/logger.ts';

const view = {
  name: 'm',
  version: '2',
  platform: 'onnxruntime_onnx',
  inputs: [],
  outputs: [],
  isBatched: false,
  rowsMax: 1,
  labels: new Map(),
  config: {},
};
const model = new ServedModel(
  view,
  resolveModelPolicy({ rowsMax: 1, queueRequestsMax: 1, queueBytesMax: 1, runMsMax: 1 }),
  1,
);

let registry: MetricsRegistry;
let lines: string[];
let watch: FleetWatch;

beforeEach(() => {
  registry = new MetricsRegistry();
  lines = [];
  const config = resolveConfig({ options: { log: { level: 'debug', format: 'json' } }, cwd: '/' });
  const write = (text: string) => {
    lines.push(text);
  };
  const logger = createLogger({ config, isTerminal: false, paint: (_, text) => text, write });
  watch = new FleetWatch(logger, new MetricsObserver(registry, { version: '0', node: '0' }));
});

function metric(series: string): number | undefined {
  const line = renderMetrics(registry, 'prometheus')
    .split('\n')
    .find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ')[1]);
}

function logged(): readonly Record<string, unknown>[] {
  return lines.splice(0).map((line) => {
    const { level, message, ...rest } = JSON.parse(line) as Record<string, unknown>;
    const { time, server, ...fields } = rest;
    return { level, message, ...fields };
  });
}

test('readiness and load time of a model are in its metrics, and listeners hear of each change until they stop', () => {
  let changes = 0;
  const stop = watch.onModelChange(() => {
    changes += 1;
  });
  expect(watch.loadMsOf(model)).toBeUndefined();
  watch.modelLoaded(model, 1500);
  watch.modelReady(model);
  expect(watch.loadMsOf(model)).toBe(1500);
  expect(metric('millrace_model_load_seconds{model="m",version="2"}')).toBe(1.5);
  expect(metric('millrace_model_ready{model="m",version="2"}')).toBe(1);
  expect(changes).toBe(1);
  watch.modelFailed(model);
  expect(metric('millrace_model_ready{model="m",version="2"}')).toBe(0);
  expect(changes).toBe(2);
  stop();
  watch.modelReady(model);
  expect(changes).toBe(2);
});

test('workers are counted by state, and forgotten when they are gone', () => {
  const counts = () => ['starting', 'ready', 'stopping'].map((state) => metric(`millrace_workers{state="${state}"}`));
  watch.workerStarted('g', 1, 100);
  watch.workerStarted('g', 2, 101);
  expect(counts()).toEqual([2, 0, 0]);
  watch.workerReady('g', 1, 100);
  expect(counts()).toEqual([1, 1, 0]);
  watch.workerStopping(1);
  expect(counts()).toEqual([1, 0, 1]);
  watch.workerGone('g', 1, 'stopped', undefined);
  expect(counts()).toEqual([1, 0, 0]);
  expect(metric('millrace_worker_restarts_total')).toBe(0);
});

test('a worker that exits is a warning with its reason and counted as a restart; one that is stopped is neither', () => {
  watch.workerStarted('g', 1, 100);
  watch.workerReady('g', 1, 100);
  expect(logged()).toEqual([
    { level: 'debug', message: 'worker started', group: 'g', worker: 1, pid: 100 },
    { level: 'debug', message: 'worker ready', group: 'g', worker: 1, pid: 100 },
  ]);
  watch.workerGone('g', 1, 'ended by SIGKILL', 50);
  expect(logged()).toEqual([
    {
      level: 'warn',
      message: 'worker exited; restarting',
      group: 'g',
      worker: 1,
      reason: 'ended by SIGKILL',
      restartInMs: 50,
      times: 1,
    },
  ]);
  expect(metric('millrace_worker_restarts_total')).toBe(1);
  watch.workerGone('g', 1, 'the worker was stopped', undefined);
  expect(logged()).toEqual([
    { level: 'debug', message: 'worker stopped', group: 'g', worker: 1, reason: 'the worker was stopped' },
  ]);
});

test('a worker that cannot serve a model which others serve is a warning, and the model stays ready', () => {
  watch.modelReady(model);
  watch.modelShortOfWorker(model, 2, 'out of memory');
  expect(logged()).toEqual([
    {
      level: 'warn',
      message: 'worker cannot serve the model; other workers do',
      model: 'm',
      version: '2',
      worker: 2,
      reason: 'out of memory',
      times: 1,
    },
  ]);
  expect(metric('millrace_model_ready{model="m",version="2"}')).toBe(1);
});

test('what fails again and again for the same reason is logged at each doubling', () => {
  const failed = { context: 'm:2', reason: 'out of memory', isOldServing: false, retryInMs: 500.4 };
  for (let attempt = 0; attempt < 20; attempt++) {
    watch.workerGone('m:2', 1, 'ended by SIGKILL', 50);
    watch.modelShortOfWorker(model, 2, 'out of memory');
    watch.loadFailed(failed);
  }
  const told = logged().filter(({ level }) => level !== 'debug');
  const timesOf = (message: string) => told.filter((line) => line.message === message).map(({ times }) => times);
  expect(timesOf('worker exited; restarting')).toEqual([1, 2, 4, 8, 16]);
  expect(timesOf('worker cannot serve the model; other workers do')).toEqual([1, 2, 4, 8, 16]);
  expect(timesOf('load failed again')).toEqual([2, 4, 8, 16]);
  watch.workerReady('m:2', 1, 100);
  logged();
  watch.workerGone('m:2', 1, 'ended by SIGKILL', 50);
  expect(logged()).toMatchObject([{ level: 'warn', times: 1 }]);
});

test('a failed replacement is logged the first time too: the state of its model says nothing of it', () => {
  watch.loadFailed({ context: 'm:2', reason: 'torn', isOldServing: true, retryInMs: undefined });
  expect(logged()).toMatchObject([
    { level: 'error', message: 'load failed; the previous revision keeps serving', context: 'm:2', reason: 'torn' },
  ]);
});

test('whether requests share runs of a model is logged once, and a warning is logged when that ends', () => {
  const verdict = { kind: 'unknown', node: 'Custom_1', reason: 'not known' } as const;
  const sharing = {
    sharesRuns: true,
    isGuessed: false,
    verdict,
    reason: 'so it says',
    advice: '',
  };
  const { policy } = model;
  const shared = new ServedModel({ ...view, sharing }, policy, 2);
  watch.modelReady(shared);
  watch.modelReady(shared);
  const of = { model: 'm', version: '2' };
  const found = { verdict: 'unknown', node: 'Custom_1', sharesRuns: true, reason: 'so it says' };
  expect(logged()).toEqual([{ level: 'info', message: 'requests of this model share runs', ...of, ...found }]);
  watch.sharingStopped(shared, 'output y has 1 row');
  const stopped = 'outputs of a shared run could not be divided; requests now run alone';
  expect(logged()).toEqual([{ level: 'warn', message: stopped, ...of, reason: 'output y has 1 row' }]);
  const alone = { ...sharing, sharesRuns: false, verdict: { kind: 'independent' } as const };
  watch.modelReady(new ServedModel({ ...view, sharing: alone }, policy, 3));
  expect(logged()).toMatchObject([{ level: 'info', message: 'each request of this model runs alone', ...of }]);
});
