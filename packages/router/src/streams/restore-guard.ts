/**
 * Finds streams whose restoring kills the router. A note in the journal says that streams are being restored; a process that finds
 * it knows that the one before died meanwhile, and restores one stream at a time, naming each. A death of a process that was
 * not killed from outside counts against the stream that was alone then. Progress clears the count.
 */
import type { Journal } from '@millrace/store';

/** How the process before this one ended; `killed`: by a signal from outside, which says nothing about streams. */
export type EarlierEnd = 'crashed' | 'killed' | 'unknown';

export interface RestoreGuardParts {
  readonly journal: Pick<Journal, 'readNote' | 'writeNote'>;
  readonly clock: { alarm(delayMs: number, callback: () => void): () => void; endOfTurn(callback: () => void): void };
  readonly deathsMax: number;
  readonly earlierEnd: EarlierEnd;
}

/** A stream that was restored, as long as its first step may still kill the router. */
export interface WatchedStream {
  readonly counts: { readonly runningSteps: number; readonly pendingInputs: number };
}

interface RestoreNote {
  /** The stream that is restored with no other beside it; undefined: several are. */
  readonly alone?: string;
  readonly deaths: Readonly<Record<string, number>>;
}

const noteName = 'restores';
/** Streams whose deaths are remembered: there is one at a time, but for those of which nobody asks any more. */
const suspectsMax = 16;
const lookMs = 50;
/** A stream whose first step takes longer counts as restored. */
const looksMax = 200;

export class RestoreGuard {
  readonly #parts: RestoreGuardParts;
  #ready: Promise<void> | undefined;
  readonly #deaths = new Map<string, number>();
  /** An earlier process died while it restored streams: each is restored alone. */
  #isCareful: boolean = false;
  readonly #company = new Set<Promise<unknown>>();
  #alone: Promise<void> | undefined;
  #isNoted: boolean = false;

  constructor(parts: RestoreGuardParts) {
    this.#parts = parts;
  }

  /** Deaths of routers that restored this stream alone. */
  async deathsOf(stream: string): Promise<number> {
    this.#ready ??= this.#read();
    await this.#ready;
    return this.#deaths.get(stream) ?? 0;
  }

  /** Whether the stream must not be restored again. */
  async isPoison(stream: string): Promise<boolean> {
    return (await this.deathsOf(stream)) >= this.#parts.deathsMax;
  }

  /** It was dealt with. */
  async forget(stream: string): Promise<void> {
    if (this.#deaths.delete(stream)) await this.#noteIdle();
  }

  /** All streams that an earlier process left are restored. */
  noteAllRestored(): void {
    this.#isCareful = false;
  }

  /** Resolves when the stream is restored. The guard watches it for longer: until its first step is done. */
  async run<T extends WatchedStream | undefined>(stream: string, restore: () => Promise<T>): Promise<T> {
    const deaths = await this.deathsOf(stream);
    while (this.#alone !== undefined) await this.#alone;
    return this.#isCareful || deaths > 0 ? this.#runAlone(stream, restore) : this.#runInCompany(restore);
  }

  async #runInCompany<T extends WatchedStream | undefined>(restore: () => Promise<T>): Promise<T> {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    this.#company.add(finished);
    const end = (): void => {
      this.#company.delete(finished);
      finish();
      // The next one writes it again; until then a death has another cause.
      if (this.#company.size === 0 && this.#alone === undefined) void this.#noteIdle().catch(() => {});
    };
    try {
      if (!this.#isNoted) await this.#write({ deaths: this.#counts() });
      const restored = await restore();
      void this.#settled(restored).then(end);
      return restored;
    } catch (error) {
      end();
      throw error;
    }
  }

  async #runAlone<T extends WatchedStream | undefined>(stream: string, restore: () => Promise<T>): Promise<T> {
    let finish = (): void => {};
    this.#alone = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const end = async (): Promise<void> => {
      this.#deaths.delete(stream);
      await this.#noteIdle().catch(() => {});
      this.#alone = undefined;
      finish();
    };
    try {
      await Promise.all(this.#company);
      await this.#write({ alone: stream, deaths: this.#counts() });
      const restored = await restore();
      void this.#settled(restored).then(end);
      return restored;
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** Nothing of the stream runs, or something that ran is done. */
  #settled(stream: WatchedStream | undefined): Promise<void> {
    if (stream === undefined) return Promise.resolve();
    const before = stream.counts.pendingInputs;
    return new Promise((resolve) => {
      const look = (looks: number): void => {
        const { runningSteps, pendingInputs } = stream.counts;
        if (runningSteps === 0 || pendingInputs < before || looks === looksMax) resolve();
        else this.#parts.clock.alarm(lookMs, () => look(looks + 1));
      };
      // What fails in the turn after it was restored counts as well.
      this.#parts.clock.endOfTurn(() => look(0));
    });
  }

  async #read(): Promise<void> {
    const text = await this.#parts.journal.readNote(noteName);
    if (text === undefined) return;
    const { alone, deaths, isOver } = JSON.parse(text) as RestoreNote & { readonly isOver?: boolean };
    for (const [stream, count] of Object.entries(deaths)) this.#deaths.set(stream, count);
    if (isOver === true || this.#parts.earlierEnd === 'killed') return;
    this.#isCareful = true;
    if (alone === undefined) return;
    this.#deaths.set(alone, (this.#deaths.get(alone) ?? 0) + 1);
    while (this.#deaths.size > suspectsMax) this.#deaths.delete(this.#deaths.keys().next().value as string);
    await this.#noteIdle();
  }

  /** Nothing is restored now; counts of suspects stay. */
  #noteIdle(): Promise<void> {
    this.#isNoted = false;
    if (this.#deaths.size === 0) return this.#parts.journal.writeNote(noteName, undefined);
    return this.#parts.journal.writeNote(noteName, JSON.stringify({ deaths: this.#counts(), isOver: true }));
  }

  async #write(note: RestoreNote): Promise<void> {
    this.#isNoted = note.alone === undefined;
    await this.#parts.journal.writeNote(noteName, JSON.stringify(note));
  }

  #counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#deaths);
  }
}
