/** What every lane must do, whatever carries its messages. One suite, run for each lane. */
import type { Lane } from '@millrace/protocol';
import { afterAll, afterEach, describe, expect } from 'vitest';
import { testBatches } from './lane-batches.ts';
import { testCalls } from './lane-calls.ts';
import { testLife } from './lane-life.ts';
import { testOutputMemory } from './lane-output-memory.ts';
import { LinkProbe } from './link-probe.ts';
import { ModelFolder } from './model-folder.ts';

export interface LaneUnderTest {
  readonly createLane: () => Lane;
  /** The same with workers whose models call others. */
  readonly createCallingLane: () => Lane;
  /** With workers whose engine leaves some outputs unwritten. */
  readonly createSilentLane: () => Lane;
  readonly life: Lane['life'];
  /** Each `open` starts a process, which ends with its link. */
  readonly startsProcess: boolean;
}

/** What the tests of a lane are given. */
export interface LaneTools extends LaneUnderTest {
  readonly name: string;
  readonly models: ModelFolder;
  /** A new worker; it is ended after the test, and the link held to what concerns every test. */
  open(): LinkProbe;
  openCalling(): LinkProbe;
  openSilent(): LinkProbe;
  /** A worker that tests before may have used, without models: for tests that neither end it nor ask how it began. */
  share(): LinkProbe;
  /** The same of a worker whose models call others; the models stay loaded from test to test. */
  shareCalling(): LinkProbe;
}

export function describeLane(name: string, lane: LaneUnderTest): void {
  describe(`the ${name} lane`, () => {
    const models = new ModelFolder();
    const probes: LinkProbe[] = [];
    const openOn = (opened: Lane): LinkProbe => {
      const probe = new LinkProbe(opened);
      probes.push(probe);
      return probe;
    };
    const open = () => openOn(lane.createLane());
    const openCalling = () => openOn(lane.createCallingLane());
    const openSilent = () => openOn(lane.createSilentLane());
    const plain = new SharedWorker(lane.createLane, (probe) => probe.unloadAll());
    const calling = new SharedWorker(lane.createCallingLane);
    afterAll(async () => {
      await plain.end();
      await calling.end();
      models.remove();
    });
    afterEach(async ({ task }) => {
      for (const probe of probes.splice(0)) await endProbe(probe);
      const hasFailed = task.result?.state === 'fail';
      for (const shared of [plain, calling]) await (hasFailed ? shared.end() : shared.clear());
    });
    const share = () => plain.take();
    const shareCalling = () => calling.take();
    const tools: LaneTools = { ...lane, name, models, open, openCalling, openSilent, share, shareCalling };
    testLife(tools);
    testBatches(tools);
    testOutputMemory(tools);
    testCalls(tools);
  });
}

async function endProbe(probe: LinkProbe): Promise<void> {
  await probe.end();
  expect(probe.violations).toEqual([]);
  expect(probe.received.filter(({ kind }) => kind === 'gone').length).toBe(1);
  expect(probe.received.at(-1)?.kind).toBe('gone');
}

/** One worker for many tests: a process for each would take most of the time of the suite. */
class SharedWorker {
  readonly #createLane: () => Lane;
  readonly #beforeClear: (probe: LinkProbe) => void;
  #probe: LinkProbe | undefined;

  constructor(createLane: () => Lane, beforeClear: (probe: LinkProbe) => void = () => {}) {
    this.#createLane = createLane;
    this.#beforeClear = beforeClear;
  }

  take(): LinkProbe {
    this.#probe ??= new LinkProbe(this.#createLane());
    return this.#probe;
  }

  clear(): void {
    const probe = this.#probe;
    if (probe === undefined) return;
    expect(probe.violations).toEqual([]);
    expect(probe.received.filter(({ kind }) => kind === 'gone')).toEqual([]);
    this.#beforeClear(probe);
    probe.clear();
  }

  /** Also after a test that failed: the next one has a new worker. */
  async end(): Promise<void> {
    const probe = this.#probe;
    this.#probe = undefined;
    if (probe !== undefined) await endProbe(probe);
  }
}
