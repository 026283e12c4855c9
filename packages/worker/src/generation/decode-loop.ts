/** Generates the tokens of many sequences at once, run after run, for as long as one of them is wanted. */
import {
  cacheTokensFor,
  type DecodeConfig,
  type DecodeCounts,
  DecodeScheduler,
  type SequenceId,
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
}

export class DecodeLoop {
  readonly #scheduler: DecodeScheduler;
  readonly #memory: CacheMemory;
  readonly #runs: DecoderRuns;
  readonly #entries = new Map<SequenceId, Entry>();
  #nextId = 1;
  #isRunning: boolean = false;

  constructor({ session, tensors, config }: DecodeLoopParts) {
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
    const ids = step.kind === 'token' ? step.ids : [step.id];
    try {
      const logits =
        step.kind === 'prefill'
          ? await this.#runs.prefill(step, this.#mustFind(step.id).tokens)
          : await this.#runs.token(step, (id) => this.#mustFind(id));
      this.#take(logits, step.kind === 'prefill' ? step.to - step.from : 1);
    } catch (error) {
      this.#fail(ids, error);
    }
    return true;
  }

  #take({ ids, row }: LastLogits, count: number): void {
    for (const [index, id] of ids.entries()) {
      const entry = this.#entries.get(id);
      // Ended while the run was on.
      if (entry === undefined) {
        this.#memory.release(id);
        continue;
      }
      entry.tokensRead += count;
      if (!this.#scheduler.isAtEnd(id)) continue;
      const token = entry.listener.onLogits(row(index));
      // The listener may have ended it itself.
      if (!this.#entries.has(id)) continue;
      if (token === undefined) {
        this.#forget(id);
      } else {
        entry.tokens.push(token);
        this.#scheduler.append(id);
      }
    }
  }

  #fail(ids: readonly SequenceId[], error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    for (const id of ids) {
      const entry = this.#entries.get(id);
      this.#forget(id);
      entry?.listener.onFailed(
        new InferenceError('inference-failed', `a run of the generator failed: ${message}`, { cause: error }),
      );
    }
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
