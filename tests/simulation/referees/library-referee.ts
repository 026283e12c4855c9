/**
 * Judges the keeper of contexts and the catalogue by rules of their own: what is in memory, who takes requests, who waits.
 * Shares no code with either; that nothing of a model waits or runs is known from the ledger of the scheduler's referee.
 */
import type { ContextName, KeeperAction, KeeperEvent, ModelKey, RevisionId, WaiterId } from '@millrace/core';
import type { ServedModel } from '@millrace/router/catalogue';
import { claim } from '../world/truth.ts';

type EventOf<Kind extends KeeperEvent['kind']> = Extract<KeeperEvent, { readonly kind: Kind }>;
type WaiterAnswer = Extract<KeeperAction, { kind: 'go-on' | 'refuse' }>;

interface RevisionRecord {
  readonly id: RevisionId;
  readonly context: ContextRecord;
  readonly models: readonly ServedModel[];
  /** Streams waited for it when it was first wanted. */
  readonly hasOpenStreams: boolean;
  /** As the keeper was last told. */
  bytes: number;
  phase: 'out' | 'loading' | 'in' | 'retiring' | 'unloading';
  hasFailed: boolean;
}

interface ContextRecord {
  readonly name: ContextName;
  /** Takes new requests. */
  serving: RevisionRecord | undefined;
  /** The latest that is wanted; undefined: none is. */
  wanted: RevisionRecord | undefined;
  /** The latest of all. */
  latest: RevisionRecord | undefined;
  /** Not in memory, and loaded again on demand. */
  isAside: boolean;
  isPinned: boolean;
  /** As last measured; undefined: never. */
  bytesMeasured: number | undefined;
}

interface WaiterRecord {
  readonly context: ContextName;
  readonly deadlineAt: number;
}

/** How long streams keep other loads waiting, at most. */
const headStartMs = 5000;

export interface LibraryLimits {
  readonly budgetBytes: number;
  readonly loadsMax: number;
  readonly demandWaitersMax: number;
  readonly hasPins: boolean;
}

export interface LibraryRefereeParts {
  readonly limits: LibraryLimits;
  /** Whether nothing of a model waits or runs, as the scheduler's referee knows it. */
  readonly isIdle: (model: ModelKey) => boolean;
  /** A worker that serves the model, as the scheduler's referee knows it; `isForAll`: one that takes requests of all priorities. */
  readonly takeServer: (model: ModelKey, isForAll: boolean) => number | undefined;
  /** Whether the files of the model have changed since they were read. */
  readonly hasOtherFiles: (model: ServedModel) => boolean;
  /** The models of a context for which a revision was made last. */
  readonly takeMade: (context: ContextName) => readonly ServedModel[];
  /** A revision of the model has no worker left that could run what waits for it. */
  readonly onLost: (model: string) => void;
  /** Whether the model consists of others. */
  readonly isEnsemble: (model: ServedModel) => boolean;
  /** Whether a durable stream holds the model. */
  readonly isPinned: (model: ModelKey) => boolean;
  /** Which versions take requests may have changed. */
  readonly onChange: () => void;
}

export class LibraryReferee {
  readonly #parts: LibraryRefereeParts;
  readonly #contexts = new Map<ContextName, ContextRecord>();
  readonly #revisions = new Map<RevisionId, RevisionRecord>();
  readonly #waiters = new Map<WaiterId, WaiterRecord>();
  /** Models whose workers could not be kept alive, or whose steps are missing. */
  readonly #unservable = new Set<ServedModel>();
  /** Models that lost their last worker: the last request that may be refused for it, Infinity until a worker serves them again. */
  readonly #losses = new Map<ModelKey, number>();
  /** Revisions of which a worker has loaded a model since their load began. */
  readonly #loadable = new Set<RevisionId>();
  /** What the workers of a revision held when they were last heard of. */
  readonly #resident = new Map<RevisionId, number>();
  /** Models of which a revision was replaced or removed while it took no requests. */
  readonly #replacedUnserved = new Set<string>();
  #wakeAt = Number.POSITIVE_INFINITY;
  #headStartEndsAt = Number.NEGATIVE_INFINITY;
  #isEnding: boolean = false;

  constructor(parts: LibraryRefereeParts) {
    this.#parts = parts;
  }

  /** The catalogue has it take requests. */
  noteServed(model: ServedModel): void {
    this.#unservable.delete(model);
    this.#parts.onChange();
  }

  noteUnservable(model: ServedModel): void {
    this.#unservable.add(model);
    this.#parts.onChange();
  }

  /** All models are taken from the scheduler from here on. */
  noteEnding(): void {
    this.#isEnding = true;
  }

  /** A model is taken from the scheduler, and what waits for it is refused: no worker can run it, or it is unloaded. */
  claimRemovable(key: ModelKey): void {
    const revision = this.#revisionOf(key);
    if (this.#isEnding || revision === undefined || revision.phase === 'unloading') return;
    // No other worker can load it any more: what the ones that are left do not take must not wait for ever.
    const isIrreplaceable = revision.models.some((model) => model.key === key && this.#parts.hasOtherFiles(model));
    const worker = this.#parts.takeServer(key, isIrreplaceable);
    claim(worker === undefined, `${key} is taken out of service while worker ${worker} serves it`);
    this.#losses.set(key, Number.POSITIVE_INFINITY);
    for (const model of revision.models) if (model.key === key) this.#parts.onLost(model.view.name);
  }

  /** Workers serve the model, for the first time or again; `requestCount` requests came before. */
  noteAdded(key: ModelKey, requestCount: number): void {
    if (this.#isLost(key)) this.#losses.set(key, requestCount);
  }

  /** A request for the model that had been accepted is refused. Only dead workers are an excuse for losing the model. */
  claimLost(key: ModelKey, code: string, request: number): void {
    const isExcused = code !== 'model-not-ready' || request <= (this.#losses.get(key) ?? 0) || this.#isEnding;
    claim(isExcused, `request ${request} was accepted by ${key} and lost with it`);
  }

  judge(event: KeeperEvent, actions: readonly KeeperAction[], nowMs: number): void {
    this.#note(event, nowMs);
    for (const action of actions) this.#judge(action, nowMs);
    for (const [waiter, { deadlineAt, context }] of this.#waiters) {
      claim(deadlineAt > nowMs, `waiter ${waiter} for ${context} waits after its deadline`);
      claim(this.#wakeAt <= deadlineAt, `nobody will wake for the deadline of waiter ${waiter}`);
      claim(
        this.#contexts.get(context)?.serving === undefined,
        `waiter ${waiter} waits for ${context}, which is served`,
      );
    }
    this.#claimProgress();
    this.#parts.onChange();
  }

  /** A request is put into the queue of this model: it serves, and no other revision of its context does. */
  claimServing(key: ModelKey): void {
    const revision = this.#revisionOf(key);
    claim(revision !== undefined, `a request goes to ${key}, which is forgotten`);
    const model = revision.models.find((one) => one.key === key);
    const mayContinue = model?.runner !== undefined || model?.answersAnyRows === true || this.#parts.isPinned(key);
    const isHeld = revision.phase === 'retiring' && mayContinue;
    claim(isHeld || revision.context.serving === revision, `a request goes to ${key}, which takes none`);
  }

  /** The models that take requests by this name, at once or when they are back, highest version first. */
  availableOf(name: string): readonly ServedModel[] {
    return this.#modelsOf(name, ({ isAside }) => isAside);
  }

  /** Those that take them at once. */
  servingOf(name: string): readonly ServedModel[] {
    return this.#modelsOf(name, () => false);
  }

  /** The latest load of the version failed, or that of a model beside it in its workers. */
  hasFailed(name: string, version: string): boolean {
    const isMeant = ({ view }: ServedModel): boolean => view.name === name && view.version === version;
    return [...this.#contexts.values()].some(({ latest, serving }) => {
      const isUnservable = serving?.models.some((model) => isMeant(model) && this.#unservable.has(model)) === true;
      return isUnservable || (latest?.hasFailed === true && latest.models.some(isMeant));
    });
  }

  /** A revision of the model was out of memory when it was replaced, so that nobody could wait for its streams. */
  wasReplacedUnserved(name: string): boolean {
    return this.#replacedUnserved.has(name);
  }

  /** At the end nobody waits, everything wanted is loaded or evicted, and the budget holds. */
  atEnd(): void {
    const { budgetBytes, hasPins } = this.#parts.limits;
    claim(this.#waiters.size === 0, `${this.#waiters.size} requests still wait for models to be loaded`);
    for (const { id, phase } of this.#revisions.values()) {
      claim(phase === 'in' || phase === 'out', `revision ${id} is left ${phase}`);
    }
    const used = this.#usedBytes();
    claim(hasPins || used <= budgetBytes, `${used} bytes stay under a budget of ${budgetBytes}`);
    for (const { name, wanted, serving, isAside } of this.#contexts.values()) {
      const isAtHand = serving !== undefined || isAside || wanted === undefined || wanted.hasFailed;
      claim(isAtHand, `${name} is wanted but neither loaded nor evicted`);
    }
  }

  #note(event: KeeperEvent, nowMs: number): void {
    switch (event.kind) {
      case 'wanted':
        for (const wanted of event.revisions) {
          this.#wanted(wanted);
          if (wanted.hasOpenStreams) this.#headStartEndsAt = nowMs + headStartMs;
        }
        break;
      case 'kept': {
        const context = this.#contexts.get(event.context);
        if (context !== undefined) context.wanted = context.latest;
        break;
      }
      case 'unwanted':
        this.#noteReplaced(this.#contextOf(event.context));
        this.#contextOf(event.context).wanted = undefined;
        break;
      case 'servable':
        this.#loadable.add(event.revision);
        this.#resident.set(event.revision, event.residentBytes);
        break;
      // It needs no worker: there is nothing to load.
      case 'pending':
        this.#loadable.add(event.revision);
        this.#resident.set(event.revision, 0);
        break;
      case 'unservable':
        this.#resident.set(event.revision, event.residentBytes);
        break;
      case 'settled': {
        this.#resident.set(event.revision, event.residentBytes);
        const revision = this.#revisions.get(event.revision);
        const isInMemory = revision?.phase === 'in' || revision?.phase === 'retiring';
        if (revision !== undefined && isInMemory) this.#account(revision, event.residentBytes);
        break;
      }
      case 'measured': {
        const revision = this.#revisions.get(event.revision);
        if (revision !== undefined && revision.phase !== 'loading') this.#account(revision, event.residentBytes);
        break;
      }
      case 'unloaded':
        this.#recordOf(event.revision).phase = 'out';
        break;
      case 'pinned': {
        const context = this.#contexts.get(event.context);
        if (context !== undefined) context.isPinned = event.isPinned;
        break;
      }
      case 'demanded':
        this.#waiters.set(event.waiter, event);
        break;
      case 'demand-cancelled':
        this.#waiters.delete(event.waiter);
        break;
      case 'tick':
        this.#wakeAt = Number.POSITIVE_INFINITY;
        break;
    }
  }

  #wanted(wanted: EventOf<'wanted'>['revisions'][number]): void {
    const { context: name, revision: id, bytesExpected, hasOpenStreams } = wanted;
    const context = this.#contextOf(name);
    this.#noteReplaced(context);
    const bytes = context.bytesMeasured ?? bytesExpected;
    const models = this.#parts.takeMade(name);
    const revision: RevisionRecord = { id, context, models, hasOpenStreams, bytes, phase: 'out', hasFailed: false };
    this.#revisions.set(id, revision);
    context.wanted = revision;
    context.latest = revision;
  }

  #noteReplaced({ latest, serving }: ContextRecord): void {
    for (const { key, view } of latest?.models ?? []) {
      if (latest !== serving || this.#isLost(key)) this.#replacedUnserved.add(view.name);
    }
  }

  #isLost(key: ModelKey): boolean {
    return this.#losses.get(key) === Number.POSITIVE_INFINITY;
  }

  #account(revision: RevisionRecord, bytes: number): void {
    revision.bytes = bytes;
    revision.context.bytesMeasured = bytes;
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
      case 'load':
        this.#judgeLoad(revision, nowMs);
        break;
      case 'serve':
        claim(
          revision.phase === 'retiring' || (revision.phase === 'loading' && this.#loadable.has(id)),
          `revision ${id} is ${revision.phase} but serves`,
        );
        if (revision.phase === 'loading') this.#account(revision, this.#resident.get(id) ?? revision.bytes);
        revision.phase = 'in';
        context.serving = revision;
        context.isAside = false;
        // An ensemble takes requests when its steps do, of which the catalogue is told separately.
        for (const model of revision.models) if (this.#parts.isEnsemble(model)) this.#unservable.add(model);
        break;
      case 'retire':
        claim(revision.phase === 'in', `revision ${id} retires while it is ${revision.phase}`);
        claim(action.why !== 'evicted' || !context.isPinned, `${context.name} is evicted although it is pinned`);
        revision.phase = 'retiring';
        if (context.serving === revision) context.serving = undefined;
        if (action.why === 'evicted') context.isAside = true;
        break;
      case 'unload':
        for (const { key } of revision.models) claim(this.#parts.isIdle(key), `${key} is unloaded while it is in use`);
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
        this.#loadable.delete(id);
        this.#resident.delete(id);
        if (context.latest === revision) context.latest = undefined;
        if (context.wanted === undefined) {
          context.isPinned = false;
          context.bytesMeasured = undefined;
        }
        if (context.serving === undefined && context.wanted === undefined) context.isAside = false;
        break;
    }
  }

  /** What is in memory is within the budget, save for this one load; pins may take more. */
  #judgeLoad(revision: RevisionRecord, nowMs: number): void {
    const { budgetBytes, hasPins, loadsMax } = this.#parts.limits;
    claim(revision.phase === 'out', `revision ${revision.id} is loaded while it is ${revision.phase}`);
    this.#judgeOrder(revision, nowMs);
    const used = this.#usedBytes();
    claim(hasPins || used <= budgetBytes, `a load is added to ${used} bytes under a budget of ${budgetBytes}`);
    revision.phase = 'loading';
    revision.hasFailed = false;
    this.#loadable.delete(revision.id);
    this.#resident.delete(revision.id);
    const loads = [...this.#revisions.values()].filter(({ phase }) => phase === 'loading').length;
    claim(loads <= loadsMax, `${loads} loads are in progress`);
  }

  /** At first, what nobody waits for is not loaded beside what streams wait for. */
  #judgeOrder({ id, context, hasOpenStreams }: RevisionRecord, nowMs: number): void {
    if (hasOpenStreams || nowMs >= this.#headStartEndsAt || context.isPinned) return;
    if ([...this.#waiters.values()].some((waiter) => waiter.context === context.name)) return;
    const ahead = [...this.#revisions.values()].find((one) => one.hasOpenStreams && one.phase === 'loading');
    claim(ahead === undefined, `revision ${id} is loaded beside ${ahead?.id}, which streams wait for`);
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
      const { demandWaitersMax } = this.#parts.limits;
      claim(others >= demandWaitersMax, `waiter ${action.waiter} is refused for ${others} others`);
    } else {
      claim(action.code === 'model-not-ready', `waiter ${action.waiter} is refused as ${action.code}`);
      claim(context.serving === undefined, `waiter ${action.waiter} is refused, but ${waiter.context} is served`);
    }
  }

  /** While a request waits for a load, work is in progress or the time of the next check is known. */
  #claimProgress(): void {
    if (this.#waiters.size === 0 || this.#wakeAt !== Number.POSITIVE_INFINITY) return;
    const isMoving = [...this.#revisions.values()].some(({ phase }) => phase !== 'out' && phase !== 'in');
    claim(isMoving, `${this.#waiters.size} requests wait for models, and nothing is loaded or unloaded for them`);
  }

  #modelsOf(name: string, mayBeOut: (context: ContextRecord) => boolean): readonly ServedModel[] {
    const models: ServedModel[] = [];
    for (const context of this.#contexts.values()) {
      const revision = context.serving ?? (mayBeOut(context) ? (context.wanted ?? context.latest) : undefined);
      for (const model of revision?.models ?? []) {
        if (model.view.name === name && !this.#unservable.has(model)) models.push(model);
      }
    }
    return models.sort((left, right) => Number(right.view.version) - Number(left.view.version));
  }

  #usedBytes(): number {
    let bytes = 0;
    for (const revision of this.#revisions.values()) if (revision.phase !== 'out') bytes += revision.bytes;
    return bytes;
  }

  #revisionOf(key: ModelKey): RevisionRecord | undefined {
    return [...this.#revisions.values()].find(({ models }) => models.some((model) => model.key === key));
  }

  #contextOf(name: ContextName): ContextRecord {
    let context = this.#contexts.get(name);
    if (context === undefined) {
      context = {
        name,
        serving: undefined,
        wanted: undefined,
        latest: undefined,
        isAside: false,
        isPinned: false,
        bytesMeasured: undefined,
      };
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
