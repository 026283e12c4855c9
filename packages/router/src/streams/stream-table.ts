/** The streams that this router owns, by id, and the room that callers have among them. */
import { InferenceError } from '@millrace/protocol';
import type { HostedStream } from './hosted-stream.ts';
import type { StreamSettings } from './stream-options.ts';

export interface StreamCounts {
  readonly attached: number;
  readonly detached: number;
  /** Ended, and kept for clients that resume. */
  readonly ended: number;
}

export class StreamTable {
  readonly #limits: Pick<StreamSettings, 'openMax' | 'openPerCallerMax'>;
  readonly #streams = new Map<string, HostedStream>();
  readonly #perCaller = new Map<string, number>();
  /** Opens of the same id are handled one after another. */
  readonly #opening = new Map<string, Promise<unknown>>();
  #claimed = 0;

  constructor(limits: Pick<StreamSettings, 'openMax' | 'openPerCallerMax'>) {
    this.#limits = limits;
  }

  counts(): StreamCounts {
    const counts = { attached: 0, detached: 0, ended: 0 };
    for (const stream of this.#streams.values()) {
      counts[stream.hasEnded ? 'ended' : stream.isAttached ? 'attached' : 'detached'] += 1;
    }
    return counts;
  }

  take(id: string): HostedStream | undefined {
    return this.#streams.get(id);
  }

  all(): readonly HostedStream[] {
    return [...this.#streams.values()];
  }

  add(id: string, stream: HostedStream): void {
    this.#streams.set(id, stream);
  }

  remove(id: string): void {
    this.#streams.delete(id);
  }

  /** Throws where there is none. */
  claimRoom(caller: string): void {
    const { openMax } = this.#limits;
    const own = this.#perCaller.get(caller) ?? 0;
    if (this.#claimed >= openMax) {
      throw new InferenceError(
        'too-many-streams',
        `${openMax} streams are open, the most of this server (streams.openMax); end some first`,
      );
    }
    const share = shareOf(openMax - (this.#claimed - own), this.#limits);
    if (own >= share) {
      throw new InferenceError(
        'too-many-streams',
        `this caller has ${own} open streams of at most ${share}, its share of what others leave (streams.openPerCallerMax); end some first`,
      );
    }
    this.countRestored(caller);
  }

  /** A stream that was found in the journal always has room, and takes it from those that are opened later. */
  countRestored(caller: string): void {
    this.#claimed += 1;
    this.#perCaller.set(caller, (this.#perCaller.get(caller) ?? 0) + 1);
  }

  giveRoom(caller: string): void {
    this.#claimed -= 1;
    const left = (this.#perCaller.get(caller) ?? 1) - 1;
    if (left > 0) this.#perCaller.set(caller, left);
    else this.#perCaller.delete(caller);
  }

  /** Runs one open of an id after the other. */
  serially<T>(id: string, run: () => Promise<T>): Promise<T> {
    const before = this.#opening.get(id);
    const mine = before === undefined ? run() : before.then(run, run);
    const settled = mine.then(nothing, nothing).then(() => {
      if (this.#opening.get(id) === settled) this.#opening.delete(id);
    });
    this.#opening.set(id, settled);
    return mine;
  }
}

/** Where the limit of a caller is above that of the server, so that it says nothing: the server's alone was lowered. */
const fractionByDefault = 0.6;

/** A caller gets the same fraction of what others leave, so that no few of them can have all streams of the server. */
function shareOf(
  left: number,
  { openMax, openPerCallerMax }: Pick<StreamSettings, 'openMax' | 'openPerCallerMax'>,
): number {
  const fraction = openPerCallerMax > openMax ? fractionByDefault : openPerCallerMax / openMax;
  return Math.ceil(fraction * left);
}

function nothing(): void {}
