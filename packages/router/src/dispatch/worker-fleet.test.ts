import { defaultGroupConfig, defaultRestartPolicy, Scheduler } from '@millrace/core';
import { type LoadSpec, MalformedFrame, neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { ServedModels } from '../catalogue/served-models.ts';
import { showState } from '../catalogue/testing/show-state.ts';
import { createDataPlane, type LiveDataPlane } from '../data-plane/live-data-plane.ts';
import { silentObserver } from '../data-plane/observer.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import { HeldClock } from '../data-plane/testing/held-clock.ts';
import { servedModel } from '../data-plane/testing/models.ts';
import { inferRequest } from '../data-plane/testing/requests.ts';
import { ScriptedLane } from '../data-plane/testing/scripted-lane.ts';
import type { FleetListener } from './fleet-listener.ts';
import type { RunningGroup } from './running-group.ts';
import { WorkerFleet } from './worker-fleet.ts';
import type { GroupListener } from './worker-group.ts';

const loadMsMax = 300_000;
const { pauseMs, stableMs, crashLoopDeaths } = defaultRestartPolicy;
const { stopMsMax, reload } = defaultGroupConfig;
/** The shortest that jitter allows. */
const reloadPauseMs = reload.pauseMs / 2;

/** A fleet on one scripted lane, with the shortest pauses that jitter allows; records all events. */
class ScriptedFleet {
  readonly clock = new HeldClock();
  readonly lane = new ScriptedLane();
  readonly told: string[] = [];
  readonly models = new ServedModels();
  readonly groups: RunningGroup[] = [];
  readonly plane: LiveDataPlane;
  readonly fleet: WorkerFleet;

  constructor(workers: number, ...groups: readonly (readonly string[])[]) {
    this.plane = createDataPlane({
      scheduler: new Scheduler(),
      models: this.models,
      clock: this.clock,
      observer: silentObserver,
      demand: { bringBack: () => Promise.reject(new Error('nothing is loaded on demand here')) },
      random: () => 0,
    });
    this.fleet = new WorkerFleet({
      workers: this.plane.workers,
      roster: this.plane.roster,
      clock: this.clock,
      random: () => 0,
      loadMsMax,
      listener: this.#listener(),
    });
    let handle = 0;
    for (const [index, names] of groups.entries()) {
      const models = names.map((name) => {
        handle += 1;
        const model = modelNamed(name, handle);
        showState(this.models, model, { state: 'loading', reason: 'the model is loading' });
        return { model, spec: specOf(model), placements: [cpuPlacement, gpuPlacement] };
      });
      const name = `group${index + 1}`;
      const listener = this.#groupListener(name);
      const group = { name, lane: this.lane, workers, models, listener, isRetry: false, isShared: false };
      this.groups.push(this.fleet.add(group) as RunningGroup);
    }
  }

  /** Name, state and reason of every model. */
  states(): readonly string[] {
    return this.models.statuses().map(({ name, state, reason }) => `${name} ${state}${reason && `: ${reason}`}`);
  }

  takeTold(): readonly string[] {
    return this.told.splice(0);
  }

  async infer(model: string): Promise<string> {
    const data = new Uint8Array(Int32Array.of(5).buffer);
    const inputs = [{ name: 'x', datatype: 'INT32' as const, shape: [1, 1], data }];
    const request = inferRequest({
      model,
      inputs,
    });
    try {
      const answer = await this.plane.inference.infer(request, neverCancelled);
      answer.release();
      return 'answered';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  #groupListener(name: string): GroupListener {
    return {
      modelServable: (model) => {
        showState(this.models, model, { state: 'ready' });
        this.told.push(`${model.key} ready`);
      },
      modelUnservable: (model, reason) => {
        showState(this.models, model, { state: 'failed', reason });
        this.told.push(`${model.key} failed: ${reason}`);
      },
      settled: () => this.told.push(`${name} settled`),
    };
  }

  #listener(): FleetListener {
    const tell = (text: string) => {
      this.told.push(text);
    };
    return {
      modelLoaded: ({ key }, loadMs) => tell(`${key} loaded in ${loadMs}`),
      modelShortOfWorker: ({ key }, worker, reason) => tell(`${key} not by worker ${worker}: ${reason}`),
      workerStarted: (group, worker, pid) => tell(`${group} worker ${worker} started as ${pid}`),
      workerReady: (group, worker) => tell(`${group} worker ${worker} ready`),
      workerStopping: (worker) => tell(`worker ${worker} stopping`),
      workerGone: (group, worker, reason, restartInMs) =>
        tell(`${group} worker ${worker} gone: ${reason}; ${restartInMs === undefined ? 'for good' : restartInMs}`),
    };
  }
}

function modelNamed(name: string, handle: number): ServedModel {
  const inputs = [{ name: 'x', datatype: 'INT32' as const, shape: [-1, 1] }];
  const model = servedModel(inputs, [{ name: 'y', datatype: 'INT32', shape: [-1, 1] }], { name });
  Object.defineProperty(model, 'handle', { value: handle });
  return model;
}

function specOf({ view, handle }: ServedModel): LoadSpec {
  const { name, version, inputs, outputs, isBatched } = view;
  const rest = { engine: 'onnxruntime', path: '/nowhere', threads: 1, isSpinning: false } as const;
  return { model: handle, name, version, inputs, outputs, isBatched, ...rest };
}

const everyone = { priorityMax: Infinity, threads: 0 };
const cpuPlacement = { group: 'spare', gpu: undefined, ...everyone };
const gpuPlacement = { group: 'quick', gpu: { id: 1, provider: 'cuda' as const }, ...everyone };

test('each worker loads the model on its own device', () => {
  const scripted = new ScriptedFleet(3, ['a']);
  const devices = scripted.lane.links.map(({ sent }) => (sent[0]?.kind === 'load' ? sent[0].spec.gpu : 'no load'));
  expect(devices).toEqual([undefined, gpuPlacement.gpu, undefined]);
});

test('a worker gets its models to load, each is ready when loaded, and the worker when all are', () => {
  const scripted = new ScriptedFleet(1, ['a', 'b']);
  const worker = scripted.lane.last;
  expect(worker.sent).toMatchObject([
    { kind: 'load', spec: { name: 'a' } },
    { kind: 'load', spec: { name: 'b' } },
  ]);
  expect(scripted.states()).toEqual(['a loading: the model is loading', 'b loading: the model is loading']);
  worker.says({ kind: 'ready', model: 1, loadMs: 3, residentBytes: 1 });
  expect(scripted.states()).toEqual(['a ready', 'b loading: the model is loading']);
  worker.says({ kind: 'ready', model: 2, loadMs: 4, residentBytes: 1 });
  expect(scripted.takeTold()).toEqual([
    'group1 worker 1 started as 1',
    'a:1 loaded in 3',
    'a:1 ready',
    'b:1 loaded in 4',
    'b:1 ready',
    'group1 worker 1 ready',
    'group1 settled',
  ]);
});

test('a model that cannot be loaded fails with the reason, and the others of its group are served', () => {
  const scripted = new ScriptedFleet(1, ['a', 'b']);
  scripted.lane.last.says({ kind: 'load-failed', model: 1, message: 'no such operator' });
  scripted.lane.last.says({ kind: 'ready', model: 2, loadMs: 4, residentBytes: 1 });
  expect(scripted.states()).toEqual(['a failed: no such operator', 'b ready']);
  expect(scripted.takeTold()).toContain('group1 worker 1 ready');
  expect(scripted.lane.last.calls).toEqual([]);
});

test('the load of a model that was served before is retried until it succeeds', () => {
  const scripted = new ScriptedFleet(1, ['a', 'b']);
  scripted.lane.last.loads();
  scripted.lane.last.dies();
  scripted.clock.advance(0);
  const successor = scripted.lane.last;
  successor.says({ kind: 'load-failed', model: 1, message: 'no such file' });
  successor.says({ kind: 'ready', model: 2, loadMs: 4, residentBytes: 1 });
  expect(scripted.states()).toEqual(['a failed: no such file', 'b ready']);
  const loads = () => successor.sent.filter(({ kind }) => kind === 'load').length;
  expect(loads()).toBe(2);
  scripted.clock.advance(reloadPauseMs - 1);
  expect(loads()).toBe(2);
  scripted.clock.advance(1);
  expect(loads()).toBe(3);
  successor.says({ kind: 'load-failed', model: 1, message: 'no such file' });
  scripted.clock.advance(2 * reloadPauseMs);
  successor.says({ kind: 'ready', model: 1, loadMs: 4, residentBytes: 1 });
  expect(scripted.states()).toEqual(['a ready', 'b ready']);
  scripted.clock.advance(10 * reloadPauseMs);
  expect(loads()).toBe(4);
});

test('a worker that exited is restarted at once, then after pauses that double, and five exits fail its models', () => {
  const scripted = new ScriptedFleet(1, ['a'], ['b']);
  scripted.lane.links[1]?.loads();
  const pauses = [0, pauseMs / 2, pauseMs, 2 * pauseMs];
  scripted.lane.links[0]?.dies('it fell');
  for (const pause of pauses) {
    const before = scripted.lane.links.length;
    scripted.clock.advance(Math.max(0, pause - 1));
    expect(scripted.lane.links.length).toBe(pause === 0 ? before + 1 : before);
    scripted.clock.advance(1);
    expect(scripted.lane.links.length).toBe(before + 1);
    expect(scripted.states()).toEqual(['a loading: the model is loading', 'b ready']);
    scripted.lane.last.dies('it fell');
  }
  expect(scripted.states()).toEqual([
    `a failed: crash loop: its worker exited ${crashLoopDeaths} times in a row or more without an answer, last: it fell`,
    'b ready',
  ]);
  expect(scripted.takeTold().filter((text) => text.includes('gone'))).toEqual(
    [...pauses, 4 * pauseMs].map((pause) => `group1 worker 1 gone: it fell; ${pause}`),
  );
});

test('a model that failed in a crash loop is served again when a later worker loads it', async () => {
  const scripted = new ScriptedFleet(1, ['a']);
  for (let death = 0; death < crashLoopDeaths; death++) {
    scripted.lane.last.dies();
    scripted.clock.advance(10_000);
  }
  expect(scripted.states()[0]).toMatch(/^a failed/);
  expect(await scripted.infer('a')).toBe('model-not-ready');
  scripted.lane.last.says({ kind: 'credit', batchesMax: 2 });
  scripted.lane.last.loads();
  expect(scripted.states()).toEqual(['a ready']);
  const answer = scripted.infer('a');
  scripted.clock.endTurn();
  scripted.lane.last.answers();
  expect(await answer).toBe('answered');
});

test('a worker that answered, or ran long after its loads, is restarted at once', () => {
  const scripted = new ScriptedFleet(1, ['a']);
  const deathAfter = (life: () => void): string | undefined => {
    for (let death = 0; death < 3; death++) {
      scripted.lane.last.dies();
      scripted.clock.advance(10_000);
    }
    scripted.lane.last.says({ kind: 'credit', batchesMax: 2 });
    scripted.lane.last.loads();
    life();
    scripted.takeTold();
    scripted.lane.last.dies();
    const told = scripted.takeTold().at(-1);
    scripted.clock.advance(10_000);
    return told;
  };
  expect(deathAfter(() => scripted.clock.advance(stableMs - 1))).toBe(`group1 worker 1 gone: it died; ${2 * pauseMs}`);
  expect(deathAfter(() => scripted.clock.advance(stableMs))).toBe('group1 worker 1 gone: it died; 0');
  const answering = () => {
    void scripted.infer('a');
    scripted.clock.endTurn();
    scripted.lane.last.answers();
  };
  expect(deathAfter(answering)).toBe('group1 worker 1 gone: it died; 0');
});

test('a worker that has not loaded its models in time is killed, and the reason names them', () => {
  const scripted = new ScriptedFleet(1, ['a', 'b']);
  scripted.lane.last.says({ kind: 'ready', model: 1, loadMs: 3, residentBytes: 1 });
  scripted.clock.advance(loadMsMax - 1);
  expect(scripted.lane.last.calls).toEqual([]);
  scripted.clock.advance(1);
  expect(scripted.lane.last.calls).toEqual(['kill']);
  scripted.lane.last.dies('ended by SIGKILL');
  const reason =
    'loading b:1 took longer than 300 s (worker.loadSecondsMax), and the worker was killed; ended by SIGKILL';
  expect(scripted.states()).toEqual(['a ready', `b failed: ${reason}`]);
  scripted.clock.advance(0);
  scripted.lane.last.loads();
  expect(scripted.states()).toEqual(['a ready', 'b ready']);
});

test('a load over its time limit counts as a crash, however long it took', () => {
  const scripted = new ScriptedFleet(1, ['a']);
  scripted.clock.advance(loadMsMax);
  scripted.lane.last.dies();
  scripted.clock.advance(0);
  scripted.clock.advance(loadMsMax);
  scripted.lane.last.dies();
  expect(scripted.takeTold().at(-2)).toMatch(new RegExp(`; ${pauseMs / 2}$`));
});

test('a load that is retried has the same time limit', () => {
  const { clock, lane } = new ScriptedFleet(1, ['a']);
  lane.last.loads();
  lane.last.dies();
  clock.advance(0);
  lane.last.says({ kind: 'load-failed', model: 1, message: 'no such file' });
  clock.advance(reloadPauseMs + loadMsMax - 1);
  expect(lane.last.calls).toEqual([]);
  clock.advance(1);
  expect(lane.last.calls).toEqual(['kill']);
});

test('loads that end in time, also by failing, stop the timer of the limit', () => {
  const scripted = new ScriptedFleet(1, ['a', 'b']);
  scripted.clock.advance(loadMsMax - 1);
  scripted.lane.last.says({ kind: 'load-failed', model: 1, message: 'no', isFinal: true });
  scripted.lane.last.says({ kind: 'ready', model: 2, loadMs: 4, residentBytes: 1 });
  scripted.clock.advance(10 * loadMsMax);
  expect(scripted.lane.last.calls).toEqual([]);
  expect(scripted.clock.timerCount).toBe(0);
});

test('while another worker serves a model, the exit or failed load of one does not fail the model', async () => {
  const scripted = new ScriptedFleet(2, ['a']);
  const [first, second] = scripted.lane.links;
  first?.says({ kind: 'credit', batchesMax: 1 });
  first?.loads();
  second?.says({ kind: 'load-failed', model: 1, message: 'out of memory' });
  expect(scripted.states()).toEqual(['a ready']);
  expect(scripted.takeTold()).toContain('a:1 not by worker 2: out of memory');
  for (let death = 0; death < crashLoopDeaths; death++) {
    scripted.lane.links.at(death === 0 ? 1 : -1)?.dies();
    scripted.clock.advance(10_000);
  }
  expect(scripted.states()).toEqual(['a ready']);
  const answer = scripted.infer('a');
  scripted.clock.endTurn();
  first?.answers();
  expect(await answer).toBe('answered');
});

test('requests that a worker held when it exited are answered by its successor', async () => {
  const scripted = new ScriptedFleet(1, ['a']);
  scripted.lane.last.says({ kind: 'credit', batchesMax: 2 });
  scripted.lane.last.loads();
  const answer = scripted.infer('a');
  scripted.clock.endTurn();
  scripted.lane.last.dies();
  expect(scripted.states()).toEqual(['a ready']);
  scripted.clock.advance(0);
  scripted.lane.last.says({ kind: 'credit', batchesMax: 2 });
  scripted.lane.last.loads();
  scripted.clock.endTurn();
  scripted.lane.last.answers();
  expect(await answer).toBe('answered');
  expect(scripted.lane.releases()).toEqual([1, 1, 1]);
});

test('a stop lets workers exit by themselves, waits for them and restarts none', async () => {
  const scripted = new ScriptedFleet(2, ['a']);
  for (const link of scripted.lane.links) link.loads();
  scripted.takeTold();
  let isStopped = false;
  const stopped = scripted.fleet.stop().then(() => {
    isStopped = true;
  });
  expect(scripted.lane.links.map(({ calls }) => calls)).toEqual([['stop'], ['stop']]);
  scripted.lane.links[0]?.dies('the worker was stopped');
  await Promise.resolve();
  expect(isStopped).toBe(false);
  scripted.lane.links[1]?.dies('the worker was stopped');
  await stopped;
  scripted.clock.advance(60_000);
  expect(scripted.lane.links).toHaveLength(2);
  expect(scripted.takeTold()).toEqual([
    'worker 1 stopping',
    'worker 2 stopping',
    'group1 worker 1 gone: the worker was stopped; for good',
    'group1 worker 2 gone: the worker was stopped; for good',
  ]);
});

test('a worker that does not exit within stopMsMax of a stop is killed', async () => {
  const scripted = new ScriptedFleet(1, ['a']);
  const stopped = scripted.fleet.stop();
  scripted.clock.advance(stopMsMax - 1);
  expect(scripted.lane.last.calls).toEqual(['stop']);
  scripted.clock.advance(1);
  expect(scripted.lane.last.calls).toEqual(['stop', 'kill']);
  scripted.lane.last.dies();
  await stopped;
  expect(scripted.clock.timerCount).toBe(0);
});

test('a worker that is stopped while it loads is killed for its stop, not for its load', async () => {
  const { clock, lane, fleet } = new ScriptedFleet(1, ['a']);
  clock.advance(loadMsMax - stopMsMax / 2);
  const stopped = fleet.stop();
  lane.last.loads();
  clock.advance(stopMsMax - 1);
  expect(lane.last.calls).toEqual(['stop']);
  clock.advance(1);
  expect(lane.last.calls).toEqual(['stop', 'kill']);
  lane.last.dies();
  await stopped;
});

test('a kill after a stop that takes too long ends the workers, and is reported as one stop', async () => {
  const scripted = new ScriptedFleet(1, ['a']);
  scripted.takeTold();
  const both = Promise.all([scripted.fleet.stop(), scripted.fleet.kill()]);
  expect(scripted.lane.last.calls).toEqual(['stop', 'kill']);
  scripted.lane.last.dies();
  await both;
  expect(scripted.takeTold()).toEqual(['worker 1 stopping', 'group1 worker 1 gone: it died; for good']);
});

test('a stop between an exit and the restart ends at once and cancels the restart', async () => {
  const scripted = new ScriptedFleet(1, ['a']);
  scripted.lane.last.dies();
  await scripted.fleet.stop();
  scripted.clock.advance(60_000);
  expect(scripted.lane.links).toHaveLength(1);
  expect(scripted.clock.timerCount).toBe(0);
});

test('a group that is added later has workers of its own, under ids that were never used', () => {
  const scripted = new ScriptedFleet(1, ['a']);
  scripted.lane.last.loads();
  const model = modelNamed('b', 9);
  scripted.fleet.add({
    name: 'late',
    isShared: false,
    lane: scripted.lane,
    workers: 1,
    models: [{ model, spec: specOf(model), placements: [cpuPlacement] }],
    isRetry: false,
    listener: { modelServable: () => {}, modelUnservable: () => {}, settled: () => {} },
  });
  expect(scripted.takeTold()).toContain('late worker 2 started as 2');
});

test('removing a group stops its workers and removes its models, and does not affect other groups', async () => {
  const scripted = new ScriptedFleet(2, ['a'], ['b']);
  for (const link of scripted.lane.links) link.loads();
  const removed = scripted.fleet.remove(scripted.groups[0] as RunningGroup);
  expect(scripted.lane.links.map(({ calls }) => calls)).toEqual([['stop'], ['stop'], [], []]);
  scripted.lane.links[0]?.dies();
  scripted.lane.links[1]?.dies();
  await removed;
  scripted.clock.advance(60_000);
  expect(scripted.lane.links).toHaveLength(4);
  const refused = scripted.infer('a');
  scripted.clock.endTurn();
  expect(await refused).toBe('model-not-ready');
});

test('a group has settled when each of its workers has loaded, failed or exited', () => {
  const scripted = new ScriptedFleet(3, ['a']);
  const [first, second, third] = scripted.lane.links;
  first?.loads();
  second?.dies();
  expect(scripted.groups[0]?.isSettled).toBe(false);
  third?.says({ kind: 'load-failed', model: 1, message: 'no' });
  expect(scripted.groups[0]?.isSettled).toBe(true);
  expect(scripted.told.filter((text) => text === 'group1 settled')).toHaveLength(1);
});

test('growing a group starts workers beside the existing ones', () => {
  const scripted = new ScriptedFleet(1, ['a']);
  scripted.lane.last.loads();
  scripted.groups[0]?.resize(3);
  expect(scripted.lane.links).toHaveLength(3);
  expect(scripted.lane.links[0]?.sent).toHaveLength(1);
  scripted.lane.last.loads();
  expect(scripted.states()).toEqual(['a ready']);
});

test('shrinking a group lets the surplus worker finish what it holds, gives it nothing new, and does not replace it', async () => {
  const scripted = new ScriptedFleet(2, ['a']);
  const [first, second] = scripted.lane.links;
  for (const link of scripted.lane.links) {
    link.says({ kind: 'credit', batchesMax: 1 });
    link.loads();
  }
  const answers = [scripted.infer('a')];
  scripted.clock.endTurn();
  answers.push(scripted.infer('a'));
  scripted.clock.endTurn();
  expect([first?.inFlight.length, second?.inFlight.length]).toEqual([1, 1]);
  scripted.groups[0]?.resize(1);
  expect([first?.calls, second?.calls]).toEqual([[], ['stop']]);
  answers.push(scripted.infer('a'));
  second?.answers();
  scripted.clock.endTurn();
  expect(second?.inFlight).toHaveLength(0);
  second?.dies('the worker was stopped');
  first?.answers();
  scripted.clock.endTurn();
  first?.answers();
  expect(await Promise.all(answers)).toEqual(['answered', 'answered', 'answered']);
  scripted.clock.advance(60_000);
  expect(scripted.lane.links).toHaveLength(2);
});

test('a group settles when the worker that had not settled yet is removed by shrinking', () => {
  const scripted = new ScriptedFleet(2, ['a']);
  scripted.lane.links[0]?.loads();
  scripted.takeTold();
  scripted.groups[0]?.resize(1);
  expect(scripted.takeTold()).toEqual(['worker 2 stopping', 'group1 settled']);
});

test.each([
  ['before it did', false],
  ['after it did', true],
])('a worker that could not load a model retries when another one can, %s', (_, isOtherFirst) => {
  const scripted = new ScriptedFleet(2, ['a', 'b']);
  const [first, second] = scripted.lane.links;
  const fail = () => first?.says({ kind: 'load-failed', model: 1, message: 'no memory' });
  if (!isOtherFirst) fail();
  second?.says({ kind: 'ready', model: 1, loadMs: 1, residentBytes: 1 });
  if (isOtherFirst) fail();
  const loads = () => first?.sent.filter(({ kind }) => kind === 'load').length;
  expect(loads()).toBe(2);
  scripted.clock.advance(reloadPauseMs);
  expect(loads()).toBe(3);
  first?.says({ kind: 'ready', model: 1, loadMs: 1, residentBytes: 1 });
  scripted.clock.advance(10 * reloadPauseMs);
  expect(loads()).toBe(3);
});

test('a message about a model that the worker never got is a protocol error for its lane', () => {
  const scripted = new ScriptedFleet(1, ['a']);
  const nonsense = { kind: 'ready', model: 99, loadMs: 1, residentBytes: 1 } as const;
  expect(() => scripted.lane.links[0]?.says(nonsense)).toThrow(MalformedFrame);
});

/** Files that may change. */
class ChangingFiles {
  readonly path = '/models/a';
  isSame: boolean = true;
  readonly isUnchanged = async (): Promise<boolean> => this.isSame;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test('a worker that takes the place of another does not load files that have changed since', async () => {
  const scripted = new ScriptedFleet(1, ['a', 'b']);
  const files = new ChangingFiles();
  for (const { model } of scripted.groups[0]?.models ?? []) if (model.view.name === 'a') model.source = files;
  scripted.lane.last.loads();
  await settle();
  expect(scripted.states()).toEqual(['a ready', 'b ready']);
  files.isSame = false;
  scripted.lane.last.dies();
  scripted.clock.advance(0);
  await settle();
  const successor = scripted.lane.last;
  expect(successor.sent).toMatchObject([{ kind: 'load', spec: { name: 'b' } }]);
  successor.loads();
  expect(scripted.states()).toEqual([expect.stringContaining('a failed: the files of a:1 have changed'), 'b ready']);
  expect(await scripted.infer('a')).toBe('model-not-ready');

  files.isSame = true;
  scripted.clock.advance(reloadPauseMs);
  await settle();
  successor.says({ kind: 'ready', model: 1, loadMs: 3, residentBytes: 1 });
  await settle();
  expect(scripted.states()).toEqual(['a ready', 'b ready']);
});

test('files that are compared when their worker exits are loaded by its successor', async () => {
  const scripted = new ScriptedFleet(1, ['a']);
  const files = new ChangingFiles();
  for (const { model } of scripted.groups[0]?.models ?? []) model.source = files;
  scripted.lane.last.loads();
  scripted.lane.last.dies();
  await settle();
  expect(scripted.states()).toEqual(['a loading: the model is loading']);
  scripted.clock.advance(0);
  await settle();
  scripted.lane.last.loads();
  await settle();
  expect(scripted.states()).toEqual(['a ready']);
});
