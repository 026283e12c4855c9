/**
 * The storage under the journal of streams. It outlives the processes that open it; one of them has it at a time. Commits
 * take time, those of a process that dies may have been kept or not, and one that fails leaves it unknown.
 */
import { type JournalHost, type JournalTable, MemoryJournalHost, StoreError } from '@millrace/store';
import type { SimulatedWorld } from '../world/simulated-world.ts';

type Commit = Parameters<JournalHost['commit']>[0];
type Settle = Parameters<JournalHost['commit']>[1];

export class SimulatedDisk {
  readonly rows = new MemoryJournalHost();
  readonly world: SimulatedWorld;
  readonly commitMsMax: number;
  owner: DiskOfProcess | undefined;
  /** The next commit fails, and nobody knows what was kept. */
  isNextUnknown: boolean = false;

  constructor(world: SimulatedWorld, commitMsMax: number) {
    this.world = world;
    this.commitMsMax = commitMsMax;
  }

  /** The process that had it before is fenced off. */
  open(): DiskOfProcess {
    this.owner = new DiskOfProcess(this);
    return this.owner;
  }
}

export class DiskOfProcess implements JournalHost {
  readonly #disk: SimulatedDisk;
  #isDead: boolean = false;
  #waiting: Commit | undefined;

  constructor(disk: SimulatedDisk) {
    this.#disk = disk;
  }

  read<T>(action: (table: JournalTable) => T): T {
    return this.#disk.rows.read(action);
  }

  commit(action: Commit, settle: Settle): void {
    if (this.#isDead) return;
    this.#waiting = action;
    this.#later(() => this.#commit(action, settle));
  }

  async close(): Promise<void> {
    this.die();
  }

  /** What it had begun to write may have been written. */
  die(): void {
    const waiting = this.#waiting;
    const isKept = waiting !== undefined && this.#isOwner && this.#disk.world.streamRandom.chance(0.5);
    this.#isDead = true;
    if (isKept) waiting(this.#disk.rows);
  }

  get #isOwner(): boolean {
    return this.#disk.owner === this;
  }

  #commit(action: Commit, settle: Settle): void {
    const { rows, world } = this.#disk;
    this.#waiting = undefined;
    if (!this.#isOwner) {
      settle(new StoreError('journal-fenced', 'another process has the journal'));
      return;
    }
    const isUnknown = this.#disk.isNextUnknown;
    this.#disk.isNextUnknown = false;
    if (!isUnknown || world.streamRandom.chance(0.5)) action(rows);
    if (isUnknown) world.count('streams: commit of unknown outcome');
    this.#later(() => settle(isUnknown ? new StoreError('store-failed', 'the disk does not answer') : undefined));
  }

  #later(happen: () => void): void {
    const { world, commitMsMax } = this.#disk;
    world.timeline.after(world.streamRandom.next() * commitMsMax, () => {
      if (!this.#isDead) happen();
    });
  }
}
