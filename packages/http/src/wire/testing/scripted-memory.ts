import type { ConnectionMemory, MemoryHolder, MemoryLease, MemoryVerdict, ServerMemory } from '../memory.ts';

/** Memory that a test decides about: it grants up to a number of bytes over all requests, and lets waiting ones go on when told to. */
export class ScriptedMemory implements ServerMemory, ConnectionMemory {
  usedBytes = 0;
  readonly owners: string[] = [];
  closedConnections = 0;
  readonly #grantedMax: number;
  /** Bytes above what is granted that a waiting request may bring. */
  readonly #overdraftMax: number;
  readonly #waiting = new Set<MemoryHolder>();

  constructor(grantedMax: number, overdraftMax: number = Number.POSITIVE_INFINITY) {
    this.#grantedMax = grantedMax;
    this.#overdraftMax = overdraftMax;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  connection(owner: string): ConnectionMemory {
    this.owners.push(owner);
    return this;
  }

  guest(owner: string): ConnectionMemory {
    return this.connection(owner);
  }

  close(): void {
    this.closedConnections++;
  }

  /** Those that wait may go on, in order. */
  letGo(): void {
    for (const holder of [...this.#waiting]) {
      this.#waiting.delete(holder);
      holder.onMemory();
    }
  }

  lease(holder: MemoryHolder): MemoryLease {
    let held = 0;
    const add = (bytes: number): void => {
      held += bytes;
      this.usedBytes += bytes;
    };
    const keep = (bytes: number): void => {
      this.#waiting.delete(holder);
      add(bytes - held);
    };
    return {
      get heldBytes() {
        return held;
      },
      hold: (bytes): MemoryVerdict => {
        add(bytes);
        if (this.usedBytes <= this.#grantedMax) return 'granted';
        if (this.usedBytes > this.#grantedMax + this.#overdraftMax) return 'refused';
        this.#waiting.add(holder);
        return 'waiting';
      },
      count: add,
      hasRoomFor: (bytes) => this.usedBytes + bytes <= this.#grantedMax,
      give: (bytes) => add(-Math.min(bytes, held)),
      complete: () => {},
      keep,
      end: () => keep(0),
    };
  }
}
