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
  /** The worker has a process of its own. */
  readonly hasProcess: boolean;
}

/** What the tests of a lane have in hand. */
export interface LaneTools extends LaneUnderTest {
  readonly name: string;
  readonly models: ModelFolder;
  /** A new worker; it is ended after the test, and the link held to what concerns every test. */
  open(): LinkProbe;
  openCalling(): LinkProbe;
  openSilent(): LinkProbe;
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
    afterAll(() => models.remove());
    afterEach(async () => {
      for (const probe of probes.splice(0)) {
        await probe.end();
        expect(probe.violations).toEqual([]);
        expect(probe.received.filter(({ kind }) => kind === 'gone').length).toBe(1);
        expect(probe.received.at(-1)?.kind).toBe('gone');
      }
    });
    const tools: LaneTools = { ...lane, name, models, open, openCalling, openSilent };
    testLife(tools);
    testBatches(tools);
    testOutputMemory(tools);
    testCalls(tools);
  });
}
