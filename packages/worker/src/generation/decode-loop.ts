/** Generates the tokens of many sequences at once, run after run, for as long as one of them is wanted. */
import {
  cacheTokensFor,
  type DecodeConfig,
  type DecodeCounts,
  DecodeScheduler,
  type SequenceId,
  type TokenStep,
} from '@millrace/generation';
import { InferenceError } from '@millrace/protocol';
import type { InferenceSession } from '../onnxruntime/onnxruntime.ts';
import { CacheMemory } from './cache-memory.ts';
import { DecoderRuns, type LastLogits } from './decoder-runs.ts';
import type { DecoderTensors } from './decoder-tensors.ts';

/** What the loop asks and tells about a sequence. */
export interface SequenceListener {
  /**
   * Chooses the next token by the logits, which are valid during the call only. Undefined: the sequence has ended, and the loop forgets it.
   */
  onLogits(logits: Float32Array): number | undefined;
  /** A run failed; the loop has forgotten the sequence. */
  onFailed(error: InferenceError): void;
}

export interface DecodedSequence {
  /** While it is not wanted it takes no part in runs. */
  setWanted(isWanted: boolean): void;
  /** Forgets it. May be called at any time, also after it has ended. */
  end(): void;
}

interface Entry {
  /** The prompt and what followed. */
  readonly tokens: number[];
  tokensRead: number;
  readonly listener: SequenceListener;
}

export interface DecodeLoopParts {
  readonly session: InferenceSession;
  readonly tensors: DecoderTensors;
  readonly config: DecodeConfig;
  /** After a run that failed, each of its texts takes the step alone (default). A probe has to see that texts cannot share runs. */
  readonly isolatesFailures?: boolean;
}

export class DecodeLoop {
  readonly #scheduler: DecodeScheduler;
  readonly #memory: CacheMemory;
  readonly #runs: DecoderRuns;
  readonly #entries = new Map<SequenceId, Entry>();
  readonly #isolatesFailures: boolean;
  #nextId = 1;
  #isRunning: boolean = false;

  constructor({ session, tensors, config, isolatesFailures = true }: DecodeLoopParts) {
    this.#isolatesFailures = isolatesFailures;
    this.#scheduler = new DecodeScheduler(config);
    this.#memory = new CacheMemory(tensors.caches);
    this.#runs = new DecoderRuns({
      session,
      tensors,
      memory: this.#memory,
      cacheTokensFor: (tokensRead) => cacheTokensFor(tokensRead, config),
    });
  }

  get counts(): DecodeCounts {
    return this.#scheduler.counts;
  }

  /** Begins a sequence; the prompt has at least one token, and with all that will follow at most `sequenceTokensMax`. */
  begin(prompt: readonly number[], listener: SequenceListener): DecodedSequence {
    const id = this.#nextId++;
    this.#entries.set(id, { tokens: [...prompt], tokensRead: 0, listener });
    this.#scheduler.add(id, prompt.length);
    this.#wake();
    return {
      setWanted: (isWanted) => {
        if (!this.#entries.has(id)) return;
        this.#scheduler.setWanted(id, isWanted);
        if (isWanted) this.#wake();
      },
      end: () => this.#forget(id),
    };
  }

  #wake(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void this.#turn());
  }

  /** One run, and then the event loop has its turn: messages that came meanwhile are read between runs. */
  async #turn(): Promise<void> {
    const isMore = await this.#step();
    if (isMore) setImmediate(() => void this.#turn());
    else this.#isRunning = false;
  }

  /** False: nothing is wanted. */
  async #step(): Promise<boolean> {
    const step = this.#scheduler.next();
    if (step === undefined) return false;
    if (step.kind === 'drop') {
      this.#memory.release(step.id);
      this.#mustFind(step.id).tokensRead = 0;
      return true;
    }
    if (step.kind === 'token') {
      await this.#takeTokenStep(step);
      return true;
    }
    try {
      this.#take(await this.#runs.prefill(step, this.#mustFind(step.id).tokens), step.to - step.from);
    } catch (error) {
      this.#fail(step.id, error);
    }
    return true;
  }

  /** One text can make a run fail, for instance by a position that the graph does not have: then each takes its step alone. */
  async #takeTokenStep(step: TokenStep): Promise<void> {
    let logits: LastLogits;
    try {
      logits = await this.#runs.token(step, (id) => this.#mustFind(id));
    } catch (error) {
      if (step.ids.length > 1 && this.#isolatesFailures) await this.#takeEachAlone(step);
      else for (const id of step.ids) this.#fail(id, error);
      return;
    }
    this.#take(logits, 1);
  }

  async #takeEachAlone(step: TokenStep): Promise<void> {
    for (const id of step.ids) {
      // One that was ended while the run was on has no cache any more.
      if (this.#entries.has(id)) await this.#takeTokenStep({ ...step, ids: [id], firstRow: 0 });
    }
  }

  #take({ ids, row }: LastLogits, count: number): void {
    for (const [index, id] of ids.entries()) {
      const entry = this.#entries.get(id);
      // Ended while the run was on.
      if (entry === undefined) {
        this.#memory.release(id);
        continue;
      }
      try {
        this.#takeOne(id, entry, row(index), count);
      } catch (error) {
        this.#fail(id, error);
      }
    }
  }

  #takeOne(id: SequenceId, entry: Entry, logits: Float32Array, count: number): void {
    entry.tokensRead += count;
    if (!this.#scheduler.isAtEnd(id)) return;
    const token = entry.listener.onLogits(logits);
    // The listener may have ended it itself.
    if (!this.#entries.has(id)) return;
    if (token === undefined) {
      this.#forget(id);
    } else {
      entry.tokens.push(token);
      this.#scheduler.append(id);
    }
  }

  #fail(id: SequenceId, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const entry = this.#entries.get(id);
    this.#forget(id);
    entry?.listener.onFailed(
      new InferenceError('inference-failed', `a run of the generator failed: ${message}`, { cause: error }),
    );
  }

  #forget(id: SequenceId): void {
    if (!this.#entries.delete(id)) return;
    this.#scheduler.remove(id);
    this.#memory.release(id);
  }

  #mustFind(id: SequenceId): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`sequence ${id} takes part in a run, but it has ended`);
    return entry;
  }
}
