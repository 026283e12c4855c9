/**
 * A server's models for as long as a seed says: files change, loads fail, processes take their time, requests come in
 * storms and find their model in memory or not. Everything the keeper says is carried out and held against what it
 * promises.
 */
import { Keeper, type KeeperAction, type KeeperEvent, type RevisionId } from '@millrace/core';
import { Random } from './random.ts';
import { Timeline } from './timeline.ts';

interface Revision {
  readonly id: RevisionId;
  readonly context: string;
  /** What it takes once it is in memory. */
  readonly bytes: number;
  readonly expectedBytes: number;
  phase: 'out' | 'loading' | 'in' | 'retiring' | 'unloading';
  isServing: boolean;
  hasServed: boolean;
  requests: number;
  usedAt: number | undefined;
  attempt: number;
}

interface Context {
  readonly name: string;
  serving: Revision | undefined;
  /** The latest that is wanted; undefined: none is. */
  wanted: Revision | undefined;
  isSetAside: boolean;
}

export interface KeeperOutcome {
  readonly seed: number;
  readonly failure: string | undefined;
  readonly trace: readonly string[];
  readonly events: number;
  /** How often each kind of thing was seen. */
  readonly seen: ReadonlyMap<string, number>;
}

const horizonMs = 60_000;
const attemptsMax = 4;

export function simulateKeeper(seed: number): KeeperOutcome {
  return new KeeperWorld(seed).run();
}

class KeeperWorld {
  readonly #seed: number;
  readonly #random: Random;
  readonly #time = new Timeline();
  readonly #keeper: Keeper;
  readonly #contexts: readonly Context[];
  readonly #revisions = new Map<RevisionId, Revision>();
  readonly #waiting = new Map<number, { readonly context: Context; readonly attempts: number }>();
  readonly #loadsMax: number;
  readonly #failChance: number;
  readonly #budget: number;
  readonly #hasPins: boolean;
  readonly #trace: string[] = [];
  readonly #seen = new Map<string, number>();
  #lastRevision = 0;
  #lastWaiter = 0;
  #events = 0;
  #failure: string | undefined;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = new Random(seed);
    const random = this.#random;
    this.#loadsMax = random.integer(1, 4);
    this.#failChance = random.chance(0.5) ? 0 : 0.2;
    this.#budget = random.chance(0.2) ? Number.POSITIVE_INFINITY : random.integer(60, 240);
    this.#hasPins = random.chance(0.3);
    this.#contexts = Array.from({ length: random.integer(2, 10) }, (_, index) => ({
      name: `m${index}`,
      serving: undefined,
      wanted: undefined,
      isSetAside: false,
    }));
    const use = {
      usedAt: (id: RevisionId) => this.#revisions.get(id)?.usedAt,
      isInUse: (id: RevisionId) => (this.#revisions.get(id)?.requests ?? 0) > 0,
    };
    this.#keeper = new Keeper(use, { loadsMax: this.#loadsMax, demandWaitersMax: random.integer(3, 40) });
  }

  run(): KeeperOutcome {
    this.#tell({ kind: 'budget', bytesMax: this.#budget });
    for (const context of this.#contexts) this.#want(context);
    this.#scheduleLife();
    while (this.#failure === undefined && this.#time.step());
    this.#checkEnd();
    return {
      seed: this.#seed,
      failure: this.#failure,
      trace: this.#trace,
      events: this.#events,
      seen: this.#seen,
    };
  }

  /** What happens in the world, until its horizon. */
  #scheduleLife(): void {
    const random = this.#random;
    const hot = random.pick(this.#contexts);
    const next = (meanMs: number, happen: () => void): void => {
      const delay = 1 + random.next() * 2 * meanMs;
      if (this.#time.nowMs + delay > horizonMs) return;
      this.#time.after(delay, () => {
        if (this.#failure !== undefined) return;
        happen();
        next(meanMs, happen);
      });
    };
    next(random.integer(5, 200), () => this.#request(random.chance(0.5) ? hot : random.pick(this.#contexts), 0));
    next(4000, () => {
      const context = random.pick(this.#contexts);
      for (let count = random.integer(2, 30); count > 0; count--) this.#request(context, 0);
    });
    next(3000, () => this.#want(random.pick(this.#contexts)));
    next(12_000, () => this.#unwant(random.pick(this.#contexts)));
    next(5000, () => this.#measureOne());
    if (this.#hasPins) {
      next(6000, () =>
        this.#tell({ kind: 'pinned', context: random.pick(this.#contexts).name, isPinned: random.chance(0.4) }),
      );
    }
  }

  #want(context: Context): void {
    const random = this.#random;
    this.#lastRevision += 1;
    const bytes = random.integer(5, 60);
    const revision: Revision = {
      id: this.#lastRevision,
      context: context.name,
      bytes,
      expectedBytes: random.chance(0.5) ? bytes : random.integer(1, 60),
      phase: 'out',
      isServing: false,
      hasServed: false,
      requests: 0,
      usedAt: undefined,
      attempt: 0,
    };
    this.#revisions.set(revision.id, revision);
    context.wanted = revision;
    this.#tell({
      kind: 'wanted',
      context: context.name,
      revision: revision.id,
      bytesExpected: revision.expectedBytes,
      isRetried: random.chance(0.7),
    });
  }

  #unwant(context: Context): void {
    if (context.wanted === undefined) return;
    const others = this.#contexts.filter((one) => one !== context && one.wanted !== undefined);
    const after = others.length > 0 && this.#random.chance(0.5) ? [this.#random.pick(others).name] : [];
    context.wanted = undefined;
    this.#tell({ kind: 'unwanted', context: context.name, after });
  }

  #measureOne(): void {
    const inMemory = [...this.#revisions.values()].filter(({ phase }) => phase === 'in');
    if (inMemory.length === 0) return;
    const { id, bytes } = this.#random.pick(inMemory);
    this.#tell({ kind: 'measured', revision: id, residentBytes: bytes });
  }

  /** A request as the data plane treats it. */
  #request(context: Context, attempts: number): void {
    const { serving } = context;
    if (serving !== undefined) {
      serving.requests += 1;
      serving.usedAt = this.#time.nowMs;
      this.#note('request answered');
      this.#time.after(this.#random.next() * 300, () => {
        serving.requests -= 1;
        this.#idleIfSo(serving);
      });
      return;
    }
    if (!context.isSetAside || attempts >= attemptsMax) {
      this.#note(attempts >= attemptsMax ? 'request gave up' : 'request refused');
      return;
    }
    this.#lastWaiter += 1;
    const waiter = this.#lastWaiter;
    this.#waiting.set(waiter, { context, attempts });
    const deadlineAt = this.#random.chance(0.3)
      ? this.#time.nowMs + this.#random.integer(1, 2000)
      : Number.POSITIVE_INFINITY;
    if (this.#random.chance(0.1)) {
      this.#time.after(this.#random.next() * 500, () => {
        if (!this.#waiting.delete(waiter)) return;
        this.#note('demand cancelled');
        this.#tell({ kind: 'demand-cancelled', waiter });
      });
    }
    this.#tell({ kind: 'demanded', context: context.name, waiter, deadlineAt });
  }

  #tell(event: KeeperEvent): void {
    this.#events += 1;
    this.#trace.push(`${this.#time.nowMs.toFixed(1)} ${JSON.stringify(event)}`);
    this.#keeper.handle(event, this.#time.nowMs);
    for (const action of this.#keeper.takeActions()) {
      this.#trace.push(`${this.#time.nowMs.toFixed(1)}   ${JSON.stringify(action)}`);
      this.#note(action.kind);
      if (this.#failure === undefined) this.#perform(action);
    }
    this.#checkBudget();
  }

  #perform(action: KeeperAction): void {
    switch (action.kind) {
      case 'wake-at':
        this.#time.at(action.at, () => this.#failure ?? this.#tell({ kind: 'tick' }));
        return;
      case 'go-on':
      case 'refuse':
        this.#answerWaiter(action);
        return;
    }
    const revision = this.#revisions.get(action.revision);
    if (revision === undefined) {
      this.#fail(`${action.kind} of an unknown revision`);
      return;
    }
    const context = this.#contexts.find(({ name }) => name === revision.context) as Context;
    switch (action.kind) {
      case 'load':
        this.#load(revision);
        return;
      case 'serve':
        if (revision.phase !== 'in' && revision.phase !== 'retiring') this.#fail('what is not in memory is served');
        if (context.serving !== undefined && context.serving !== revision) context.serving.isServing = false;
        context.serving = revision;
        context.isSetAside = false;
        Object.assign(revision, { phase: 'in', isServing: true, hasServed: true });
        return;
      case 'retire':
        if (revision.phase !== 'in') this.#fail('what is not in memory retires');
        revision.isServing = false;
        revision.phase = 'retiring';
        if (context.serving === revision) context.serving = undefined;
        if (action.why === 'evicted') context.isSetAside = true;
        this.#time.after(0, () => this.#idleIfSo(revision));
        return;
      case 'unload':
        if (revision.requests > 0) this.#fail('a revision is unloaded while it has requests');
        if (revision.isServing) this.#fail('a revision is unloaded while it takes requests');
        revision.phase = 'unloading';
        this.#time.after(this.#random.next() * 200, () => {
          revision.phase = 'out';
          this.#tell({ kind: 'unloaded', revision: revision.id });
        });
        return;
      case 'failed':
        if (action.isOldServing && context.serving === undefined) this.#fail('nothing serves, though it was said so');
        return;
      case 'set-aside':
        if (context.wanted === revision && context.serving === undefined) context.isSetAside = true;
        return;
      case 'forget':
        if (revision.phase !== 'out') this.#fail('what is in memory is forgotten');
        this.#revisions.delete(revision.id);
        if (context.serving === undefined && context.wanted === undefined) context.isSetAside = false;
        return;
    }
  }

  #load(revision: Revision): void {
    if (revision.phase !== 'out') this.#fail('what is in memory is loaded');
    revision.phase = 'loading';
    revision.attempt += 1;
    const { attempt } = revision;
    const loading = [...this.#revisions.values()].filter(({ phase }) => phase === 'loading').length;
    if (loading > this.#loadsMax) this.#fail(`${loading} loads are in progress`);
    this.#time.after(20 + this.#random.next() * 800, () => {
      if (revision.phase !== 'loading' || revision.attempt !== attempt) return;
      if (this.#random.chance(this.#failChance)) {
        const jitter = this.#random.next();
        this.#tell({ kind: 'load-failed', revision: revision.id, reason: 'it failed', jitter });
      } else {
        revision.phase = 'in';
        this.#tell({ kind: 'loaded', revision: revision.id, residentBytes: revision.bytes });
      }
    });
  }

  #idleIfSo(revision: Revision): void {
    if (revision.phase !== 'retiring' || revision.requests > 0) return;
    this.#tell({ kind: 'idle', revision: revision.id });
  }

  #answerWaiter(action: Extract<KeeperAction, { kind: 'go-on' | 'refuse' }>): void {
    const waiting = this.#waiting.get(action.waiter);
    if (waiting === undefined) {
      this.#fail(`waiter ${action.waiter} is answered twice, or was never there`);
      return;
    }
    this.#waiting.delete(action.waiter);
    if (action.kind === 'refuse') this.#note(`refuse ${action.code}`);
    // As in the router: whoever may go on asks anew a moment later.
    else this.#time.after(0, () => this.#request(waiting.context, waiting.attempts + 1));
  }

  /** What is in memory is within the budget, save for one load; pins may take more. */
  #checkBudget(): void {
    if (this.#hasPins || this.#failure !== undefined) return;
    let used = 0;
    let largest = 0;
    for (const { phase, bytes } of this.#revisions.values()) {
      if (phase === 'out') continue;
      used += bytes;
      largest = Math.max(largest, bytes);
    }
    if (used > this.#budget + largest) this.#fail(`${used} bytes are in memory under a budget of ${this.#budget}`);
  }

  /** When nothing happens any more, nobody waits, everything wanted is at hand and the budget holds. */
  #checkEnd(): void {
    if (this.#failure !== undefined) return;
    const states = [...this.#revisions.keys()].map((id) => `${id} ${this.#keeper.takeRevision(id)?.state}`).join(', ');
    if (this.#waiting.size > 0) {
      this.#fail(`${this.#waiting.size} requests still wait; ${states}`);
      return;
    }
    let used = 0;
    for (const revision of this.#revisions.values()) {
      if (revision.phase === 'in') used += revision.bytes;
      if (revision.phase === 'loading' || revision.phase === 'retiring' || revision.phase === 'unloading') {
        this.#fail(`revision ${revision.id} is left ${revision.phase}`);
        return;
      }
    }
    if (!this.#hasPins && used > this.#budget) this.#fail(`${used} bytes stay under a budget of ${this.#budget}`);
    for (const context of this.#contexts) {
      const { wanted } = context;
      const isAtHand = context.serving !== undefined || context.isSetAside;
      const hasFailed = wanted !== undefined && this.#keeper.takeRevision(wanted.id)?.state === 'failed';
      if (wanted !== undefined && !isAtHand && !hasFailed) this.#fail(`${context.name} is wanted and nowhere`);
    }
  }

  #note(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }

  #fail(reason: string): void {
    this.#failure ??= `seed ${this.#seed}, ${this.#time.nowMs.toFixed(1)} ms: ${reason}`;
  }
}
