/** Hands the entries of a stream to its log, those of a turn in one append, and tells the machine what became of them. */
import type { StreamEntry, StreamMachineEvent } from '@millrace/core';
import type { FenceListener, IdleNote, StreamLog } from '@millrace/store';
import { encodeEntry } from './entry-codec.ts';
import type { JournalPauses, PausedStream } from './journal-pauses.ts';
import { appendRefusalFrom } from './stream-refusals.ts';

type AppendRefused = StreamMachineEvent<Uint8Array> & { kind: 'append-refused' };

export interface AppendListener {
  tell(event: StreamMachineEvent<Uint8Array>): void;
}

/** Of streams that have nothing to append: most are idle. */
const none: never[] = [];

/** A stream that waits for its share goes on when it has so much. */
const roomyBytes = 16 * 1024;

export class LogAppends implements FenceListener, PausedStream {
  readonly #log: StreamLog;
  readonly #listener: AppendListener;
  readonly #pauses: JournalPauses;
  #isPaused: boolean = false;
  /** Entries of the turn that are not handed to the log yet, and the number of the first of them. */
  #unsent: StreamEntry<Uint8Array>[] = none;
  #unsentFrom = 0;
  /** The first append that the log refused, until the machine is told. */
  #refusal: AppendRefused | undefined;
  /** Appends whose outcome is not known yet. */
  #inFlight = 0;
  /** The log is being told that there is a client. */
  clientNoted: Promise<void> | undefined = undefined;

  constructor(log: StreamLog, listener: AppendListener, pauses: JournalPauses) {
    this.#log = log;
    this.#listener = listener;
    this.#pauses = pauses;
    log.tellWhenFenced(this);
  }

  onFenced(): void {
    this.#listener.tell({ kind: 'append-refused', reason: 'fenced', number: this.#unsentFrom });
  }

  /** Before the machine decides what to append. True: its owner has its share of the journal, which it is to be told. */
  runsOutOfShare(): boolean {
    if (this.#isPaused || this.#log.hasShareFor(0)) return false;
    this.#isPaused = true;
    this.#pauses.add(this);
    return true;
  }

  lookForShare(): void {
    if (!this.#log.hasShareFor(roomyBytes)) return;
    this.end();
    this.#listener.tell({ kind: 'journal', isScarce: false });
  }

  /** Nothing is appended any more, or there is room again. */
  end(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#pauses.remove(this);
  }

  add(number: number, entry: StreamEntry<Uint8Array>): void {
    if (this.#unsent.length === 0) {
      this.#unsentFrom = number;
      this.#unsent = [entry];
    } else this.#unsent.push(entry);
  }

  /**
   * Since when there is no client; undefined: there is one, and it is told nothing before that is noted: a process that takes over must
   * not find that there is none. Where it cannot be noted, the machine is told before the promise rejects.
   */
  noteIdle(idle: IdleNote | undefined): Promise<void> | undefined {
    const note = this.#log.noteIdle(idle);
    if (idle !== undefined) {
      // The window of a stream without a note begins when it is taken over.
      note.catch(() => {});
      return undefined;
    }
    const noted = note.catch((error: unknown) => {
      this.#listener.tell({ kind: 'append-refused', reason: appendRefusalFrom(error), number: this.#unsentFrom });
      throw error;
    });
    this.clientNoted = noted;
    const forget = (): void => {
      if (this.clientNoted === noted) this.clientNoted = undefined;
    };
    noted.then(forget, forget);
    return noted;
  }

  flush(): void {
    const isEnding = this.#unsent.at(-1)?.kind === 'ending';
    const isCheckpoint = this.#isPaused && this.#unsent.every(({ kind }) => kind === 'checkpoint');
    // Their outputs come next: at once where the model runs in this process.
    const expectsMore = this.#unsent.at(-1)?.kind === 'input';
    // A full log takes an ending after it has refused what stands before it: so it waits for that.
    const mustWait = this.#refusal !== undefined || (isEnding && this.#inFlight > 0);
    if (mustWait || this.#unsent.length === 0) return;
    const entries = this.#unsent;
    const from = this.#unsentFrom;
    this.#unsent = none;
    this.#unsentFrom = from + entries.length;
    this.#inFlight += 1;
    this.#log.append(entries.map(encodeEntry), { isEnding, isCheckpoint, expectsMore }).then(
      (number) => {
        this.#inFlight -= 1;
        this.#listener.tell({ kind: 'committed', number });
        this.#tellRefusal();
      },
      (error: unknown) => {
        this.#inFlight -= 1;
        this.#refusal ??= { kind: 'append-refused', reason: appendRefusalFrom(error), number: from };
        this.#tellRefusal();
      },
    );
  }

  /** A full log refuses an append at once, while earlier ones are under way: what the machine may keep is known after them. */
  #tellRefusal(): void {
    const refusal = this.#refusal;
    if (refusal === undefined || (refusal.reason === 'full' && this.#inFlight > 0)) return;
    this.#refusal = undefined;
    this.#unsent = none;
    this.#listener.tell(refusal);
  }
}
