/**
 * Judges the keeper of contexts and the registry by rules of their own: what is in memory, who takes requests, who waits.
 * Shares no code with either; that nothing of a model waits or runs is known from the ledger of the scheduler's referee.
 */
import type { ContextName, KeeperAction, KeeperEvent, ModelKey, RevisionId, WaiterId } from '@millrace/core';
import type { ServedModel } from '@millrace/router/catalogue';
import type { SimulatedContext } from './layout.ts';
import type { WaiterAnswer } from './simulated-loader.ts';
import { claim } from './truth.ts';

interface RevisionRecord {
  readonly id: RevisionId;
  readonly context: ContextRecord;
  readonly models: readonly ServedModel[];
  readonly bytes: number;
  phase: 'out' | 'loading' | 'in' | 'retiring' | 'unloading';
  hasFailed: boolean;
}

interface ContextRecord {
  readonly name: ContextName;
  members: SimulatedContext['members'];
  /** Takes new requests. */
  serving: RevisionRecord | undefined;
  /** The latest that is wanted; undefined: none is. */
  wanted: RevisionRecord | undefined;
  /** Not in memory, and loaded again on demand. */
  isAside: boolean;
  isPinned: boolean;
}

interface WaiterRecord {
  readonly context: ContextName;
  readonly deadlineAt: number;
}

export interface LibraryLimits {
  readonly budgetBytes: number;
  readonly loadsMax: number;
  readonly demandWaitersMax: number;
  readonly hasPins: boolean;
}

export class LibraryReferee {
  readonly #limits: LibraryLimits;
  readonly #isIdle: (model: ModelKey) => boolean;
  readonly #contexts = new Map<ContextName, ContextRecord>();
  readonly #revisions = new Map<RevisionId, RevisionRecord>();
  readonly #waiters = new Map<WaiterId, WaiterRecord>();
  /** Models whose workers could not be kept alive: what waits for them may be refused. */
  readonly #unservable = new Set<ServedModel>();
  readonly #everUnservable = new Set<ModelKey>();
  /** Revisions of which a worker has loaded a model since their load began. */
  readonly #loadable = new Set<RevisionId>();
  #wakeAt = Number.POSITIVE_INFINITY;

  /** `isIdle`: whether nothing of a model waits or runs, as the scheduler's referee knows it. */
  constructor(limits: LibraryLimits, isIdle: (model: ModelKey) => boolean) {
    this.#limits = limits;
    this.#isIdle = isIdle;
  }

  noteRevision(
    id: RevisionId,
    { name, members }: SimulatedContext,
    models: readonly ServedModel[],
    bytes: number,
  ): void {
    const context = this.#contextOf(name);
    context.members = members;
    const revision: RevisionRecord = { id, context, models, bytes, phase: 'out', hasFailed: false };
    this.#revisions.set(id, revision);
    context.wanted = revision;
  }

  noteUnwanted(name: ContextName): void {
    this.#contextOf(name).wanted = undefined;
  }

  noteKept(name: ContextName): void {
    const latest = [...this.#revisions.values()].filter(({ context }) => context.name === name).at(-1);
    this.#contextOf(name).wanted = latest;
  }

  noteUnloaded(id: RevisionId): void {
    this.#recordOf(id).phase = 'out';
  }

  noteServed(model: ServedModel): void {
    this.#unservable.delete(model);
  }

  noteUnservable(model: ServedModel): void {
    this.#unservable.add(model);
  }

  /** What waits for it may be refused: no worker can run it. */
  noteLosing(model: ModelKey): void {
    this.#everUnservable.add(model);
  }

  noteDemand(context: ContextName, waiter: WaiterId, deadlineAt: number): void {
    this.#waiters.set(waiter, { context, deadlineAt });
  }

  noteDemandCancelled(waiter: WaiterId): void {
    this.#waiters.delete(waiter);
  }

  noteTick(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
  }

  /** Its workers could not be kept alive at some time, so that what waited for it was refused. */
  wasUnservable(model: ModelKey): boolean {
    return this.#everUnservable.has(model);
  }

  judge(event: KeeperEvent, actions: readonly KeeperAction[], nowMs: number): void {
    if (event.kind === 'pinned') this.#pinned(event.context, event.isPinned);
    if (event.kind === 'servable') this.#loadable.add(event.revision);
    for (const action of actions) this.#judge(action, nowMs);
    this.#claimBudget();
    for (const [waiter, { deadlineAt, context }] of this.#waiters) {
      claim(deadlineAt > nowMs, `waiter ${waiter} for ${context} waits after its deadline`);
      claim(this.#wakeAt <= deadlineAt, `nobody will wake for the deadline of waiter ${waiter}`);
      claim(
        this.#contexts.get(context)?.serving === undefined,
        `waiter ${waiter} waits for ${context}, which is served`,
      );
    }
    this.#claimProgress();
  }

  /** A request was sent to this model: it serves, and no other revision of its context does. */
  claimServing(model: ServedModel): void {
    const revision = [...this.#revisions.values()].find(({ models }) => models.includes(model));
    claim(revision !== undefined, `a request goes to ${model.key}, which is forgotten`);
    claim(revision.context.serving === revision, `a request goes to ${model.key}, which takes none`);
  }

  /** The versions of a model that take requests, at once or when they are back, highest first. */
  availableOf(name: string): readonly string[] {
    const versions: string[] = [];
    for (const { members, serving, isAside } of this.#contexts.values()) {
      if (serving !== undefined) {
        const able = serving.models.filter((model) => model.view.name === name && !this.#unservable.has(model));
        versions.push(...able.map(({ view }) => view.version));
      } else if (isAside) {
        versions.push(...members.filter((member) => member.name === name).map(({ version }) => version));
      }
    }
    return versions.sort((left, right) => Number(right) - Number(left));
  }

  /** At the end nobody waits, everything wanted is loaded or evicted, and the budget holds. */
  atEnd(): void {
    claim(this.#waiters.size === 0, `${this.#waiters.size} requests still wait for models to be loaded`);
    for (const { id, phase } of this.#revisions.values()) {
      claim(phase === 'in' || phase === 'out', `revision ${id} is left ${phase}`);
    }
    if (!this.#limits.hasPins) {
      const used = this.#sum(({ phase }) => phase === 'in');
      claim(used <= this.#limits.budgetBytes, `${used} bytes stay under a budget of ${this.#limits.budgetBytes}`);
    }
    for (const { name, wanted, serving, isAside } of this.#contexts.values()) {
      const isAtHand = serving !== undefined || isAside || wanted === undefined || wanted.hasFailed;
      claim(isAtHand, `${name} is wanted but neither loaded nor evicted`);
    }
  }

  #judge(action: KeeperAction, nowMs: number): void {
    switch (action.kind) {
      case 'wake-at':
        claim(action.at >= nowMs, 'the wake-up time is in the past');
        this.#wakeAt = action.at;
        return;
      case 'go-on':
      case 'refuse':
        this.#judgeWaiter(action, nowMs);
        return;
      // What they come to is judged by the requests: see claimServing and availableOf.
      case 'version-state':
        if (action.status.state === 'unloading') this.#judgeUnloading(action.by?.revision);
        return;
      case 'version-removed':
        return;
    }
    const revision = this.#recordOf(action.revision);
    const { context, id } = revision;
    switch (action.kind) {
      case 'load': {
        claim(revision.phase === 'out', `revision ${id} is loaded while it is ${revision.phase}`);
        revision.phase = 'loading';
        revision.hasFailed = false;
        this.#loadable.delete(id);
        const loads = [...this.#revisions.values()].filter(({ phase }) => phase === 'loading').length;
        claim(loads <= this.#limits.loadsMax, `${loads} loads are in progress`);
        break;
      }
      case 'serve':
        claim(
          revision.phase === 'retiring' || (revision.phase === 'loading' && this.#loadable.has(id)),
          `revision ${id} is ${revision.phase} but serves`,
        );
        revision.phase = 'in';
        context.serving = revision;
        context.isAside = false;
        break;
      case 'retire':
        claim(revision.phase === 'in', `revision ${id} retires while it is ${revision.phase}`);
        claim(action.why !== 'evicted' || !context.isPinned, `${context.name} is evicted although it is pinned`);
        revision.phase = 'retiring';
        if (context.serving === revision) context.serving = undefined;
        if (action.why === 'evicted') context.isAside = true;
        break;
      case 'unload':
        for (const { key } of revision.models) claim(this.#isIdle(key), `${key} is unloaded while it is in use`);
        claim(context.serving !== revision, `revision ${id} is unloaded while it takes requests`);
        revision.phase = 'unloading';
        break;
      case 'failed':
        claim(!action.isOldServing || context.serving !== undefined, 'nothing serves, though it was said so');
        revision.hasFailed = true;
        context.isAside = false;
        break;
      case 'set-aside':
        claim(revision.phase === 'out', `revision ${id} is set aside while it is ${revision.phase}`);
        // What failed is not available, although a request may have it tried again.
        if (revision.hasFailed) break;
        // A retiring context stays loaded until its replacement serves, and may be kept after all.
        if ((context.wanted ?? revision) === revision && context.serving === undefined) context.isAside = true;
        break;
      case 'forget':
        claim(revision.phase === 'out', `revision ${id} is forgotten while it is ${revision.phase}`);
        this.#revisions.delete(id);
        if (context.wanted === undefined) context.isPinned = false;
        if (context.serving === undefined && context.wanted === undefined) context.isAside = false;
        break;
    }
  }

  /** What was evicted and is no longer wanted is not available any more, also while it drains. */
  #judgeUnloading(id: RevisionId | undefined): void {
    if (id === undefined) return;
    const revision = this.#recordOf(id);
    const { context } = revision;
    claim(context.wanted !== revision, `revision ${id} is wanted, but said to be unloading`);
    if (context.wanted === undefined && context.serving === undefined) context.isAside = false;
  }

  #judgeWaiter(action: WaiterAnswer, nowMs: number): void {
    const waiter = this.#waiters.get(action.waiter);
    claim(waiter !== undefined, `waiter ${action.waiter} is answered twice, or was never there`);
    this.#waiters.delete(action.waiter);
    const context = this.#contextOf(waiter.context);
    if (action.kind === 'go-on') {
      claim(context.serving !== undefined, `waiter ${action.waiter} goes on, but ${waiter.context} is not served`);
      return;
    }
    if (action.code === 'deadline-exceeded') {
      claim(waiter.deadlineAt <= nowMs, `waiter ${action.waiter} had time left`);
    } else if (action.code === 'model-full') {
      const others = [...this.#waiters.values()].filter((other) => other.context === waiter.context).length;
      claim(others >= this.#limits.demandWaitersMax, `waiter ${action.waiter} is refused for ${others} others`);
    } else {
      claim(action.code === 'model-not-ready', `waiter ${action.waiter} is refused as ${action.code}`);
      claim(context.serving === undefined, `waiter ${action.waiter} is refused, but ${waiter.context} is served`);
    }
  }

  #pinned(name: ContextName, isPinned: boolean): void {
    const context = this.#contexts.get(name);
    if (context !== undefined) context.isPinned = isPinned;
  }

  /** What is in memory is within the budget, save for one load; pins may take more. */
  #claimBudget(): void {
    const { budgetBytes, hasPins } = this.#limits;
    if (hasPins || budgetBytes === Number.POSITIVE_INFINITY) return;
    let largest = 0;
    for (const { phase, bytes } of this.#revisions.values()) if (phase !== 'out') largest = Math.max(largest, bytes);
    const used = this.#sum(({ phase }) => phase !== 'out');
    claim(used <= budgetBytes + largest, `${used} bytes are in memory under a budget of ${budgetBytes}`);
  }

  /** While a request waits for a load, work is in progress or the time of the next check is known. */
  #claimProgress(): void {
    if (this.#waiters.size === 0 || this.#wakeAt !== Number.POSITIVE_INFINITY) return;
    const isMoving = [...this.#revisions.values()].some(({ phase }) => phase !== 'out' && phase !== 'in');
    claim(isMoving, `${this.#waiters.size} requests wait for models, and nothing is loaded or unloaded for them`);
  }

  #sum(isMeant: (revision: RevisionRecord) => boolean): number {
    let bytes = 0;
    for (const revision of this.#revisions.values()) if (isMeant(revision)) bytes += revision.bytes;
    return bytes;
  }

  #contextOf(name: ContextName): ContextRecord {
    let context = this.#contexts.get(name);
    if (context === undefined) {
      context = { name, members: [], serving: undefined, wanted: undefined, isAside: false, isPinned: false };
      this.#contexts.set(name, context);
    }
    return context;
  }

  #recordOf(id: RevisionId): RevisionRecord {
    const revision = this.#revisions.get(id);
    claim(revision !== undefined, `revision ${id} is not known, or was forgotten`);
    return revision;
  }
}
