/**
 * Decides what the next run of a text generator computes. Sequences join and leave between runs; those with caches of
 * one length share a run. Prompts are read in pieces, and after a piece, or some short ones, every other sequence gets its step. When the
 * caches are full, the youngest sequence gives its own up and reads its tokens again later, with the same runs as before,
 * so that the bits of its answers do not change.
 */
import { cacheTokensFor, type DecodeConfig, sequenceTokensMax } from './decode-config.ts';
import { mustHold } from './must-hold.ts';

export type SequenceId = number;

export type DecodeStep = PrefillStep | TokenStep | DropStep;

/** Reads tokens `from` up to `to` of a prompt, with a cache of `cacheTokens`, of which `from` are in use. */
export interface PrefillStep {
  readonly kind: 'prefill';
  readonly id: SequenceId;
  readonly from: number;
  readonly to: number;
  readonly cacheTokens: number;
}

/** Reads one more token of each of the sequences. */
export interface TokenStep {
  readonly kind: 'token';
  readonly cacheTokens: number;
  readonly ids: readonly SequenceId[];
  /** How many sequences with caches of this length take their step in earlier runs of the same round. */
  readonly firstRow: number;
}

/** The cache of the sequence is released; the sequence stays. */
export interface DropStep {
  readonly kind: 'drop';
  readonly id: SequenceId;
}

interface Sequence {
  readonly id: SequenceId;
  readonly promptTokens: number;
  /** Of the prompt and what followed. */
  tokens: number;
  /** Whose keys and values are in the cache. */
  tokensRead: number;
  /** It may take a run now. */
  isWanted: boolean;
  hasCache: boolean;
}

/** A run takes as long as reading this many tokens more: it reads the weights. */
const runTokens = 12;

export interface DecodeCounts {
  /** With a cache. */
  readonly running: number;
  readonly waiting: number;
  readonly cacheBytes: number;
  readonly cacheBytesMax: number;
  /** Sequences that had to give up their caches, since the start. */
  readonly preemptions: number;
}

export class DecodeScheduler {
  readonly #config: DecodeConfig;
  readonly #tokensMax: number;
  /** Oldest first: the order in which they were added. */
  readonly #sequences = new Map<SequenceId, Sequence>();
  /** Token steps that are left of the current round. */
  #round: TokenStep[] = [];
  /** How much of prompts may be read before the next round, in tokens; a run of its own counts as some more. */
  #prefillLeft = 0;
  #cacheBytes = 0;
  #preemptions = 0;
  /** Sequences with a cache. */
  #running = 0;

  constructor(config: DecodeConfig) {
    this.#config = config;
    this.#tokensMax = sequenceTokensMax(config);
  }

  get counts(): DecodeCounts {
    const { cacheBytesMax } = this.#config;
    return {
      running: this.#running,
      waiting: this.#sequences.size - this.#running,
      cacheBytes: this.#cacheBytes,
      cacheBytesMax,
      preemptions: this.#preemptions,
    };
  }

  /** The caller has made sure that the sequence never gets more than `sequenceTokensMax` tokens. */
  add(id: SequenceId, promptTokens: number): void {
    mustHold(!this.#sequences.has(id), 'a sequence is added once');
    mustHold(promptTokens >= 1 && promptTokens <= this.#tokensMax, 'a prompt has tokens, and its cache fits');
    this.#sequences.set(id, {
      id,
      promptTokens,
      tokens: promptTokens,
      tokensRead: 0,
      isWanted: true,
      hasCache: false,
    });
  }

  /** The sequence takes no run until it is wanted again. It keeps its cache, unless another needs the memory. */
  setWanted(id: SequenceId, isWanted: boolean): void {
    this.#mustFind(id).isWanted = isWanted;
  }

  /** A token was chosen: the sequence can take its next step. */
  append(id: SequenceId): void {
    const sequence = this.#mustFind(id);
    mustHold(sequence.tokensRead === sequence.tokens, 'a token is chosen after all before it were read');
    sequence.tokens += 1;
    mustHold(sequence.tokens <= this.#tokensMax, 'the cache of a sequence fits');
  }

  /** Whether the logits of the last run of the sequence choose its next token; otherwise it reads tokens that it has. */
  isAtEnd(id: SequenceId): boolean {
    const { tokens, tokensRead } = this.#mustFind(id);
    return tokens === tokensRead;
  }

  /** The sequence has ended or is not needed any more; the caller releases its cache. */
  remove(id: SequenceId): void {
    const sequence = this.#mustFind(id);
    this.#cacheBytes -= this.#bytesOf(sequence);
    if (sequence.hasCache) this.#running -= 1;
    this.#sequences.delete(id);
    this.#round = this.#round.map((step) => ({ ...step, ids: step.ids.filter((other) => other !== id) }));
  }

  /** What to compute now; undefined: nothing is wanted. The step counts as done when `next` is called again. */
  next(): DecodeStep | undefined {
    // Twice: the round that ends may be followed by a prompt, by another round, or by nothing.
    for (let attempt = 0; attempt < 2; attempt++) {
      for (;;) {
        const step = this.#round[0];
        if (step === undefined) break;
        const taken = this.#takeTokenStep(step);
        if (taken !== undefined) return taken;
      }
      const prefill = this.#takePrefill();
      if (prefill !== undefined) return prefill;
      this.#round = this.#newRound();
      this.#prefillLeft = this.#config.prefillTokensMax + runTokens;
    }
    return undefined;
  }

  #newRound(): TokenStep[] {
    const { rowsMax } = this.#config;
    const byLength = new Map<number, SequenceId[]>();
    for (const sequence of this.#sequences.values()) {
      if (!isReadyForToken(sequence)) continue;
      const length = cacheTokensFor(sequence.tokensRead, this.#config);
      const ids = byLength.get(length);
      if (ids === undefined) byLength.set(length, [sequence.id]);
      else ids.push(sequence.id);
    }
    const steps: TokenStep[] = [];
    for (const [cacheTokens, ids] of byLength) {
      for (let at = 0; at < ids.length; at += rowsMax) {
        steps.push({ kind: 'token', cacheTokens, ids: ids.slice(at, at + rowsMax), firstRow: at });
      }
    }
    return steps;
  }

  /** The step that the round begins with, or what must happen before it; undefined: nothing is left of it. */
  #takeTokenStep(step: TokenStep): DecodeStep | undefined {
    const members = step.ids
      .flatMap((id) => this.#sequences.get(id) ?? [])
      .filter((sequence) => sequence.hasCache && isReadyForToken(sequence));
    let bytes = this.#cacheBytes;
    for (const sequence of members) bytes += this.#bytesMoreFor(sequence, sequence.tokensRead + 1);
    if (bytes > this.#config.cacheBytesMax) return this.#drop(this.#mustFindYoungest());
    this.#round.shift();
    if (members.length === 0) return undefined;
    for (const sequence of members) this.#setRead(sequence, sequence.tokensRead + 1);
    return { ...step, ids: members.map(({ id }) => id) };
  }

  /** The next piece of the oldest prompt that is wanted. Who came later does not overtake: a long prompt would wait for ever. */
  #takePrefill(): DecodeStep | undefined {
    for (const sequence of this.#sequences.values()) {
      if (!sequence.isWanted || sequence.tokensRead >= sequence.promptTokens) continue;
      const from = sequence.tokensRead;
      const to = Math.min(sequence.promptTokens, from + this.#config.prefillTokensMax);
      if (to - from + runTokens > this.#prefillLeft) return undefined;
      if (!sequence.hasCache) {
        // All that it has to read: one whose cache was dropped would otherwise soon need the memory of others again.
        const bytes = cacheTokensFor(sequence.tokens, this.#config) * this.#config.tokenBytes;
        if (this.#cacheBytes + bytes > this.#config.cacheBytesMax) {
          const idle = this.#youngest(({ isWanted }) => !isWanted);
          return idle === undefined ? undefined : this.#drop(idle);
        }
        sequence.hasCache = true;
        this.#running += 1;
        this.#cacheBytes += this.#bytesOf(sequence);
      }
      this.#prefillLeft -= to - from + runTokens;
      this.#setRead(sequence, to);
      return { kind: 'prefill', id: sequence.id, from, to, cacheTokens: cacheTokensFor(from, this.#config) };
    }
    return undefined;
  }

  #drop(sequence: Sequence): DropStep {
    this.#cacheBytes -= this.#bytesOf(sequence);
    this.#preemptions += 1;
    this.#running -= 1;
    sequence.hasCache = false;
    sequence.tokensRead = 0;
    return { kind: 'drop', id: sequence.id };
  }

  #setRead(sequence: Sequence, tokensRead: number): void {
    this.#cacheBytes += this.#bytesMoreFor(sequence, tokensRead);
    sequence.tokensRead = tokensRead;
  }

  /** With a cache of its own, an idle one before one that is wanted: it loses nothing until it is wanted again. */
  #mustFindYoungest(): Sequence {
    const youngest = this.#youngest(({ isWanted }) => !isWanted) ?? this.#youngest(() => true);
    mustHold(youngest !== undefined, 'caches that are too large belong to somebody');
    return youngest;
  }

  #youngest(isMeant: (sequence: Sequence) => boolean): Sequence | undefined {
    let youngest: Sequence | undefined;
    for (const sequence of this.#sequences.values()) if (sequence.hasCache && isMeant(sequence)) youngest = sequence;
    return youngest;
  }

  #bytesMoreFor(sequence: Sequence, tokensRead: number): number {
    return this.#bytesOf({ ...sequence, tokensRead }) - this.#bytesOf(sequence);
  }

  /** The memory for a prompt is reserved when the first piece of it is read. */
  #bytesOf({ hasCache, tokensRead, promptTokens }: Sequence): number {
    return hasCache ? cacheTokensFor(Math.max(tokensRead, promptTokens), this.#config) * this.#config.tokenBytes : 0;
  }

  #mustFind(id: SequenceId): Sequence {
    const sequence = this.#sequences.get(id);
    mustHold(sequence !== undefined, 'the sequence was added and not removed');
    return sequence;
  }
}

function isReadyForToken({ isWanted, promptTokens, tokens, tokensRead }: Sequence): boolean {
  return isWanted && tokensRead >= promptTokens && tokensRead < tokens;
}
