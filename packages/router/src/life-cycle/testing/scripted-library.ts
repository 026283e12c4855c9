/** A library whose workers are scripted by the test: everything is real except files, processes and time. */
import { type KeeperConfig, Scheduler } from '@millrace/core';
import { ServedModels } from '../../catalogue/served-models.ts';
import { createDataPlane } from '../../data-plane/live-data-plane.ts';
import { silentObserver } from '../../data-plane/observer.ts';
import { HeldClock } from '../../data-plane/testing/held-clock.ts';
import { ScriptedLane } from '../../data-plane/testing/scripted-lane.ts';
import { WorkerFleet } from '../../dispatch/worker-fleet.ts';
import type { ModelDefinition } from '../../model/model-definition.ts';
import { type LibraryListener, silentLibraryListener } from '../library-listener.ts';
import { LibraryContents } from '../revisions/library-contents.ts';
import { RevisionLoader } from '../revisions/revision-loader.ts';

export class ScriptedLibrary {
  readonly clock = new HeldClock();
  readonly lane = new ScriptedLane();
  readonly models = new ServedModels();
  readonly loader: RevisionLoader;
  readonly contents: LibraryContents;
  /** By model: what its files are by now, where they are others than those that were read. */
  readonly filesNow = new Map<string, string>();

  constructor(
    keeper: Partial<KeeperConfig> = {},
    isRetried = false,
    listener: LibraryListener = silentLibraryListener,
  ) {
    const { clock, lane, models } = this;
    const random = (): number => 0;
    const { workers, roster } = createDataPlane({
      scheduler: new Scheduler(),
      models,
      clock,
      observer: silentObserver,
      demand: { bringBack: (model, deadlineAt, signal) => this.loader.demand.bringBack(model, deadlineAt, signal) },
      random,
    });
    const fleet = new WorkerFleet({
      workers,
      roster,
      clock,
      random,
      loadMsMax: 300_000,
      listener,
    });
    this.loader = new RevisionLoader({
      lanes: { inline: lane, local: lane, pipeline: lane, generator: lane },
      roster,
      models,
      fleet,
      sharing: undefined,
      move: (context) => this.contents.move(context),
      onFilesChanged: () => {},
      clock,
      random,
      measure: () => 1000,
      listener,
      keeper,
    });
    this.contents = new LibraryContents({
      models,
      loader: this.loader,
      runnerOf: () => undefined,
      share: () => ({ threads: 1, isSpinning: false }),
      isRetried,
      isPinned: () => false,
    });
  }

  /** Applies a definition as if the model's folder had just been read; `fingerprint` stands for its files. */
  read(definition: ModelDefinition, fingerprint: string): void {
    this.put(definition, fingerprint);
    this.contents.apply();
  }

  /** The same, without the loads that follow from it. */
  put(definition: ModelDefinition, fingerprint: string): void {
    const versions = new Map(definition.versions.map(({ version }) => [version, { text: fingerprint, bytes: 10 }]));
    const print = { text: fingerprint, versions };
    const one = {
      definition,
      fingerprint: print,
      fingerprintNow: async () => ({ text: this.filesNow.get(definition.name) ?? fingerprint, bytes: 10 }),
      generation: 1,
    };
    this.contents.put(definition.name, [], one);
  }

  /** All that was there at the start has been read. */
  start(): void {
    this.loader.tell({ kind: 'started' });
  }

  /** As if its folder were gone. */
  remove(name: string): void {
    this.contents.remove(name);
    this.contents.apply();
  }

  states(): readonly string[] {
    return this.models.statuses().map(({ name, version, state, reason }) => {
      return `${name}:${version} ${state}${reason && `: ${reason}`}`;
    });
  }

  /** The worker, the last one unless given, loads every model that it was told to. Files are compared before and after that. */
  async loads(link = this.lane.last): Promise<void> {
    await this.settle();
    link.loads();
    await this.settle();
  }

  /** Lets pending promise callbacks run. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    this.clock.endTurn();
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
}
