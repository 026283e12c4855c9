import { expect, test } from 'vitest';
import { defaultRestartPolicy } from '../restart-policy.ts';
import { defaultGroupConfig, type GroupConfig } from './group-config.ts';
import type { GroupAction, GroupEvent } from './group-events.ts';
import { GroupKeeper } from './group-keeper.ts';

const { reload, stopMsMax, runMsMax, loadMsMax } = defaultGroupConfig;
const { pauseMs: restartMs, stableMs, crashLoopDeaths } = defaultRestartPolicy;

/** A group keeper with its clock; jitter is 0, which gives the shortest pauses. Starts are answered at once. */
class GroupHarness {
  now = 1000;
  /** Models that requests wait for. */
  inUse: readonly string[] = [];
  readonly keeper: GroupKeeper;
  #lastWorker = 0;

  constructor(models: readonly string[] = ['a'], config: Partial<GroupConfig> = {}) {
    this.keeper = new GroupKeeper(
      models,
      () => {
        this.#lastWorker += 1;
        return this.#lastWorker;
      },
      config,
    );
  }

  /** What it has done about the event, in short. */
  tell(event: GroupEvent): readonly string[] {
    this.keeper.handle(event, this.now);
    const actions = this.keeper.takeActions();
    const further = actions.flatMap((action) =>
      action.kind === 'start-worker'
        ? this.tell({ kind: 'worker-started', worker: action.worker, inUse: this.inUse })
        : [],
    );
    return [...actions.map(textOf), ...further];
  }

  resize(workers: number): readonly string[] {
    return this.tell({ kind: 'resized', workers });
  }

  loaded(worker: number, model = 'a'): readonly string[] {
    return this.tell({ kind: 'loaded', worker, model });
  }

  failed(worker: number, model = 'a', isFinal = false): readonly string[] {
    return this.tell({ kind: 'load-failed', worker, model, reason: 'no memory', isFinal, jitter: 0 });
  }

  exited(worker: number, batchesAnswered = 0): readonly string[] {
    return this.tell({ kind: 'worker-exited', worker, reason: 'it fell', batchesAnswered, jitter: 0 });
  }

  stopped(isKilled = false): readonly string[] {
    return this.tell({ kind: 'stopped', isKilled });
  }

  after(ms: number): readonly string[] {
    this.now += ms;
    return this.tell({ kind: 'tick' });
  }
}

function textOf(action: GroupAction): string {
  switch (action.kind) {
    case 'start-worker':
      return `start ${action.worker} at ${action.position}`;
    case 'model-unservable':
      return `unservable ${action.model}${action.isFinal ? ' for good' : ''}: ${action.reason}`;
    case 'model-short-of-worker':
      return `short of ${action.worker} for ${action.model}: ${action.reason}`;
    case 'worker-gone':
      return `gone ${action.worker}: ${action.reason}; ${action.restartInMs ?? 'for good'}`;
    case 'wake-at':
      return `wake-at ${action.at}`;
    case 'settled':
      return 'settled';
    case 'load':
    case 'unload':
    case 'serve':
    case 'unserve':
      return `${action.kind} ${action.worker} ${action.model}`;
    case 'add-model':
    case 'remove-model':
    case 'model-servable':
    case 'model-settled':
    case 'model-gone':
      return `${action.kind} ${action.model}`;
    default:
      return `${action.kind} ${action.worker}`;
  }
}

function withoutWakes(texts: readonly string[]): readonly string[] {
  return texts.filter((text) => !text.startsWith('wake-at'));
}

test('each worker is started and loads every model; the first that can run a model makes it servable', () => {
  const group = new GroupHarness(['a', 'b']);
  expect(group.resize(2)).toEqual([
    'start 1 at 0',
    'start 2 at 1',
    'load 1 a',
    'load 1 b',
    `wake-at ${1000 + loadMsMax}`,
    'load 2 a',
    'load 2 b',
  ]);
  expect(group.loaded(2, 'a')).toEqual(['add-model a', 'serve 2 a', 'model-servable a']);
  expect(group.loaded(1, 'a')).toEqual(['serve 1 a']);
  expect(group.loaded(1, 'b')).toEqual(['add-model b', 'serve 1 b', 'model-servable b', 'worker-ready 1']);
  expect(group.keeper.isSettled).toBe(false);
  expect(group.loaded(2, 'b')).toEqual(['serve 2 b', 'worker-ready 2', 'settled', 'wake-at Infinity']);
  expect(group.keeper.isSettled).toBe(true);
});

test('a load that failed is tried again after pauses that double, and the model is unservable meanwhile', () => {
  const group = new GroupHarness(['a', 'b']);
  group.resize(1);
  group.loaded(1, 'b');
  expect(withoutWakes(group.failed(1))).toEqual(['unservable a: no memory', 'worker-ready 1', 'settled']);
  for (const pauseMs of [2500, 5000, 10_000, 20_000, 30_000, 30_000]) {
    expect(withoutWakes(group.after(pauseMs - 1))).toEqual([]);
    expect(withoutWakes(group.after(1))).toEqual(['load 1 a']);
    expect(withoutWakes(group.failed(1))).toEqual(['unservable a: no memory', 'worker-ready 1']);
  }
  group.after(reload.pauseMsMax);
  expect(withoutWakes(group.loaded(1))).toEqual(['add-model a', 'serve 1 a', 'model-servable a', 'worker-ready 1']);
});

test('a load that failed for good is tried again only by the next process, or when another worker manages it', () => {
  const group = new GroupHarness();
  group.resize(2);
  expect(withoutWakes(group.failed(1, 'a', true))).toEqual(['unservable a for good: no memory', 'worker-ready 1']);
  expect(group.after(reload.pauseMsMax)).not.toContain('load 1 a');
  group.loaded(2);
  expect(group.after(reload.pauseMs)).toContain('load 1 a');
  group.failed(1, 'a', true);
  group.exited(1);
  expect(group.after(0)).toContain('load 1 a');
});

test('where another worker serves the model, a failed load or a crash loop only costs capacity', () => {
  const group = new GroupHarness();
  group.resize(2);
  group.loaded(1);
  expect(group.failed(2)).toContain('short of 2 for a: no memory');
  const told: string[] = [];
  for (let death = 0; death < crashLoopDeaths; death++) {
    told.push(...group.exited(2));
    group.after(defaultRestartPolicy.pauseMsMax);
  }
  expect(told.filter((text) => text.startsWith('short of 2'))).toHaveLength(1);
  expect(told.filter((text) => text.startsWith('unservable'))).toEqual([]);
});

test('a worker that exits is replaced at once, then after pauses that double; a crash loop makes its models unservable', () => {
  const group = new GroupHarness();
  group.resize(1);
  group.loaded(1);
  const pauses = [0, restartMs / 2, restartMs, 2 * restartMs];
  for (const [death, pauseMs] of pauses.entries()) {
    const told = withoutWakes(group.exited(1));
    expect(told).toEqual([`gone 1: it fell; ${pauseMs}`]);
    if (pauseMs > 0) expect(withoutWakes(group.after(pauseMs - 1)), `death ${death}`).toEqual([]);
    expect(withoutWakes(group.after(pauseMs > 0 ? 1 : 0))).toEqual(['start 1 at 0', 'load 1 a']);
  }
  const reason = `crash loop: its worker exited ${crashLoopDeaths} times in a row or more without an answer, last: it fell`;
  expect(withoutWakes(group.exited(1))).toEqual([
    `gone 1: it fell; ${4 * restartMs}`,
    'remove-model a',
    `unservable a: ${reason}`,
  ]);
  // Whoever reports the reason can tell that nothing has changed.
  group.after(4 * restartMs);
  expect(group.exited(1)).toContain(`unservable a: ${reason}`);
  group.after(defaultRestartPolicy.pauseMsMax);
  expect(group.loaded(1)).toContain('model-servable a');
});

test('a group whose models could not be loaded before reports the first exit, unless something was loaded', () => {
  const group = new GroupHarness(['a'], { isRetry: true });
  group.resize(1);
  expect(group.exited(1).filter((text) => text.startsWith('unservable a: crash loop'))).toHaveLength(1);
  group.after(0);
  group.loaded(1);
  expect(group.exited(1).filter((text) => text.startsWith('unservable'))).toEqual([]);
});

test('a model whose worker exits stays in its queue until a crash loop is certain', () => {
  const group = new GroupHarness();
  group.resize(1);
  group.loaded(1);
  expect(group.exited(1)).not.toContain('remove-model a');
  group.after(0);
  expect(withoutWakes(group.loaded(1))).toEqual(['serve 1 a', 'worker-ready 1']);
});

test('a worker that answered, or ran long after its loads, is replaced at once', () => {
  const group = new GroupHarness();
  group.resize(1);
  for (let death = 0; death < 3; death++) {
    group.exited(1);
    group.after(restartMs * 8);
  }
  group.loaded(1);
  group.now += stableMs - 1;
  expect(group.exited(1)).toContain(`gone 1: it fell; ${2 * restartMs}`);
  group.after(restartMs * 8);
  group.loaded(1);
  group.now += stableMs;
  expect(group.exited(1)).toContain('gone 1: it fell; 0');
  group.after(0);
  group.exited(1);
  group.after(restartMs);
  expect(group.exited(1, 1)).toContain('gone 1: it fell; 0');
});

test('a worker whose loads take too long is killed, counts as crashed, and the models that it had not loaded fail', () => {
  const group = new GroupHarness(['a', 'b', 'c']);
  group.resize(1);
  group.loaded(1, 'a');
  expect(group.after(loadMsMax - 1)).not.toContain('kill 1');
  expect(group.after(1)).toEqual(['kill 1']);
  const reason = `loading b, c took longer than ${loadMsMax / 1000} s (worker.loadSecondsMax), and the worker was killed; it fell`;
  expect(withoutWakes(group.exited(1))).toEqual([
    `gone 1: ${reason}; 0`,
    `unservable b: ${reason}`,
    `unservable c: ${reason}`,
    'settled',
  ]);
});

test('the time limit also holds for a load that is tried again', () => {
  const group = new GroupHarness(['a', 'b']);
  group.resize(1);
  group.loaded(1, 'b');
  group.failed(1, 'a');
  group.after(reload.pauseMs);
  expect(group.after(loadMsMax)).toContain('kill 1');
});

test('a worker that loads one model after the other is killed only for a load that is itself too long', () => {
  const group = new GroupHarness(['a', 'b']);
  group.resize(1);
  group.failed(1, 'a');
  group.after(reload.pauseMs);
  group.after(loadMsMax - reload.pauseMs - 1);
  group.loaded(1, 'b');
  expect(group.after(reload.pauseMs)).not.toContain('kill 1');
  expect(group.after(1)).toContain('kill 1');
});

test('a failed load that waits for its next attempt does not ask to be woken once its worker is killed', () => {
  const group = new GroupHarness(['a', 'b']);
  group.resize(1);
  group.after(loadMsMax - 1);
  group.failed(1, 'a');
  group.after(1);
  expect(group.after(reload.pauseMsMax)).toEqual([]);
});

test('loads that have ended, also by failing for good, leave nothing to wake for', () => {
  const group = new GroupHarness(['a', 'b']);
  group.resize(1);
  group.failed(1, 'a', true);
  expect(group.loaded(1, 'b').at(-1)).toBe('wake-at Infinity');
});

test('a larger group gets further workers; the others keep running', () => {
  const group = new GroupHarness();
  group.resize(1);
  group.loaded(1);
  expect(withoutWakes(group.resize(2))).toEqual(['start 2 at 1', 'load 2 a']);
  expect(group.keeper.isSettled).toBe(false);
  expect(withoutWakes(group.loaded(2))).toEqual(['serve 2 a', 'worker-ready 2', 'settled']);
});

test('a smaller group takes the last worker out of service, lets it finish, and kills it if that takes too long', () => {
  const group = new GroupHarness();
  group.resize(2);
  group.loaded(1);
  expect(group.resize(1)).toEqual([
    'unserve 2 a',
    'worker-stopping 2',
    'stop-worker 2',
    'settled',
    `wake-at ${1000 + stopMsMax + runMsMax}`,
  ]);
  expect(group.loaded(2)).toEqual([]);
  expect(group.after(stopMsMax + runMsMax)).toEqual(['kill 2']);
  expect(group.exited(2)).toEqual(['gone 2: it fell; for good']);
  expect(withoutWakes(group.resize(2))).toEqual(['start 3 at 1', 'load 3 a']);
});

test('a stopped group removes its models, lets its workers finish and replaces none', () => {
  const group = new GroupHarness();
  group.resize(2);
  group.loaded(1);
  group.exited(2);
  expect(group.stopped()).toEqual([
    'remove-model a',
    'worker-stopping 1',
    'stop-worker 1',
    `wake-at ${1000 + stopMsMax}`,
  ]);
  expect(group.resize(3)).toEqual([]);
  expect(group.failed(1)).toEqual([]);
  expect(group.after(stopMsMax)).toEqual(['kill 1']);
  expect(group.exited(1)).toEqual(['gone 1: it fell; for good']);
});

test('a kill ends workers that are stopping too, and reports no second stop', () => {
  const group = new GroupHarness();
  group.resize(2);
  group.resize(1);
  expect(withoutWakes(group.stopped())).toEqual(['worker-stopping 1', 'stop-worker 1']);
  expect(withoutWakes(group.stopped(true))).toEqual(['kill 2', 'kill 1']);
});

test('messages of a process that was replaced, or that nobody started, change nothing', () => {
  const group = new GroupHarness();
  group.resize(1);
  group.exited(1);
  expect(group.loaded(1)).toEqual([]);
  expect(group.failed(1)).toEqual([]);
  expect(group.exited(1)).toEqual([]);
  expect(group.loaded(9)).toEqual([]);
  expect(group.exited(9)).toEqual([]);
});

test('a model that joins is loaded by the running workers, and settles on its own', () => {
  const group = new GroupHarness([]);
  expect(withoutWakes(group.resize(1))).toEqual(['start 1 at 0', 'worker-ready 1', 'settled']);
  expect(withoutWakes(group.tell({ kind: 'model-joined', model: 'a' }))).toEqual(['load 1 a']);
  expect(withoutWakes(group.tell({ kind: 'model-joined', model: 'b' }))).toEqual(['load 1 b']);
  expect(group.keeper.hasTried('a')).toBe(false);
  expect(withoutWakes(group.loaded(1, 'a'))).toEqual([
    'add-model a',
    'serve 1 a',
    'model-servable a',
    'model-settled a',
  ]);
  expect(group.keeper.hasTried('a')).toBe(true);
  expect(withoutWakes(group.failed(1, 'b', true))).toEqual([
    'unservable b for good: no memory',
    'worker-ready 1',
    'model-settled b',
  ]);
});

test('a model that leaves is unloaded, and the others are not touched', () => {
  const group = new GroupHarness(['a', 'b']);
  group.resize(1);
  group.loaded(1, 'a');
  group.loaded(1, 'b');
  expect(withoutWakes(group.tell({ kind: 'model-left', model: 'a' }))).toEqual([
    'remove-model a',
    'unload 1 a',
    'model-gone a',
  ]);
  expect(withoutWakes(group.exited(1, 1))).toEqual(['gone 1: it fell; 0']);
  expect(withoutWakes(group.after(0))).toEqual(['start 1 at 0', 'load 1 b']);
});

test('a model that leaves while it is loaded is unloaded as soon as its load has ended', () => {
  const group = new GroupHarness([]);
  group.resize(1);
  group.tell({ kind: 'model-joined', model: 'a' });
  group.tell({ kind: 'model-joined', model: 'b' });
  expect(withoutWakes(group.tell({ kind: 'model-left', model: 'a' }))).toEqual([]);
  expect(withoutWakes(group.tell({ kind: 'model-left', model: 'b' }))).toEqual([]);
  expect(withoutWakes(group.loaded(1, 'a'))).toEqual(['unload 1 a', 'model-gone a']);
  expect(withoutWakes(group.failed(1, 'b'))).toEqual(['worker-ready 1', 'model-gone b']);
});

test('a model that leaves is gone with the worker that loads it', () => {
  const group = new GroupHarness([]);
  group.resize(1);
  group.tell({ kind: 'model-joined', model: 'a' });
  group.tell({ kind: 'model-left', model: 'a' });
  expect(withoutWakes(group.exited(1))).toEqual(['gone 1: it fell; 0', 'model-gone a']);
  expect(withoutWakes(group.after(0))).toEqual(['start 1 at 0', 'worker-ready 1']);
});

test('a load that hangs after its model left is still limited', () => {
  const group = new GroupHarness([]);
  group.resize(1);
  group.tell({ kind: 'model-joined', model: 'a' });
  group.tell({ kind: 'model-left', model: 'a' });
  expect(withoutWakes(group.after(loadMsMax))).toEqual(['kill 1']);
});

test('the successor of a worker loads first what requests wait for', () => {
  const harness = new GroupHarness(['a', 'b', 'c']);
  expect(harness.resize(1)).toEqual(expect.arrayContaining(['load 1 a', 'load 1 b', 'load 1 c']));
  for (const model of ['a', 'b', 'c']) harness.loaded(1, model);
  harness.inUse = ['c', 'gone'];
  harness.exited(1, 1);
  expect(harness.after(0).filter((action) => action.startsWith('load'))).toEqual(['load 1 c', 'load 1 a', 'load 1 b']);
});

test('a model is not served by workers that take less than one that may never load it again', () => {
  const group = new GroupHarness();
  group.resize(2);
  group.loaded(1);
  group.loaded(2);
  group.exited(1);
  group.after(0);
  const changed = {
    kind: 'load-failed',
    worker: 1,
    model: 'a',
    reason: 'other files',
    isFinal: false,
    jitter: 0,
  } as const;
  // Worker 2 takes as much.
  expect(group.tell({ ...changed, lesser: [] })).toContain('short of 1 for a: other files');
  group.after(reload.pauseMs);
  const actions = group.tell({ ...changed, lesser: [1] });
  expect(actions.slice(0, 2)).toEqual(['remove-model a', 'unservable a: other files']);
  group.after(4 * reload.pauseMs);
  expect(group.loaded(1).slice(0, 4)).toEqual(['add-model a', 'serve 1 a', 'serve 2 a', 'model-servable a']);
});
