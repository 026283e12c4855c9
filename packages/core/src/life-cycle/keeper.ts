/**
 * Decides which contexts are in memory, and what the state of each version is. Pure: events and the time go in, actions
 * come out.
 *
 * The budget: memory in use, including the expected size of loads in progress, is at most the budget, except for one
 * load. At most one load at a time has a size that was never measured, or exceeds the budget because it replaces a
 * revision that must serve until it is ready; and an excess afterwards is evicted at once.
 */
import { pauseAfter } from '../restart-policy.ts';
import { ContextEntry, type ContextWaiter, RevisionEntry } from './context-entry.ts';
import { chooseVictims } from './eviction-choice.ts';
import { type KeeperConfig, resolveKeeperConfig } from './keeper-config.ts';
import type {
  ContextName,
  ContextUse,
  KeeperAction,
  KeeperEvent,
  RevisionId,
  WaiterId,
  WantedRevision,
} from './keeper-events.ts';
import * as refusals from './keeper-refusals.ts';
import { loadDecisionFor, loadOrder } from './load-decision.ts';
import { takeLoadOutcome } from './load-outcome.ts';
import { RevisionTable } from './revision-table.ts';
import { VersionTable } from './version-table.ts';

type EventOf<Kind extends KeeperEvent['kind']> = Extract<KeeperEvent, { readonly kind: Kind }>;

export class Keeper {
  readonly #config: KeeperConfig;
  readonly #use: ContextUse;
  readonly #contexts = new Map<ContextName, ContextEntry>();
  readonly #versions = new VersionTable((action) => this.#actions.push(action));
  readonly #revisions = new RevisionTable(this.#versions, (action) => this.#actions.push(action));
  #actions: KeeperAction[] = [];
  #budgetBytes = Number.POSITIVE_INFINITY;
  /** Until then contexts of open streams are loaded alone. */
  #headStartEndsAt = Number.NEGATIVE_INFINITY;
  /** The end of a context's protected time, when something waits for its memory. */
  #recheckAt = Number.POSITIVE_INFINITY;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(use: ContextUse, options: Partial<KeeperConfig> = {}) {
    this.#use = use;
    this.#config = resolveKeeperConfig(options);
  }

  handle(event: KeeperEvent, nowMs: number): void {
    switch (event.kind) {
      case 'wanted':
        for (const wanted of event.revisions) this.#wanted(wanted);
        if (event.revisions.some(({ hasOpenStreams }) => hasOpenStreams))
          this.#headStartEndsAt = nowMs + this.#config.headStartMs;
        break;
      case 'kept':
        this.#clearDrop(event.context);
        break;
      case 'unwanted':
        this.#unwanted(event.context, event.after);
        break;
      case 'servable':
      case 'unservable':
      case 'pending':
        this.#reported(event, nowMs);
        break;
      case 'settled':
        this.#settled(event.revision, event.residentBytes, nowMs);
        break;
      case 'unreadable':
        this.#versions.setUnreadable(event.model, event.versions);
        break;
      case 'started':
        this.#versions.endReading();
        break;
      case 'idle':
        this.#idle(event.revision);
        break;
      case 'unloaded':
        this.#unloaded(event.revision);
        break;
      case 'measured':
        this.#measured(event.revision, event.residentBytes);
        break;
      case 'pinned':
        this.#pinned(event.context, event.isPinned, nowMs);
        break;
      case 'demanded':
        this.#demanded(event, nowMs);
        break;
      case 'demand-cancelled':
        this.#takeWaiter(event.waiter);
        break;
      case 'budget':
        this.#budgetBytes = event.bytesMax;
        // Under a budget models are loaded on demand, the first time too.
        this.#versions.setAwaiting(event.bytesMax !== Number.POSITIVE_INFINITY);
        break;
      case 'tick':
        this.#wakeAt = Number.POSITIVE_INFINITY;
        break;
    }
    this.#expire(nowMs);
    this.#relieve(nowMs);
    this.#startLoads(nowMs);
    this.#dropWhatMayGo();
    this.#versions.tellChanges();
    this.#askToWake(nowMs);
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly KeeperAction[] {
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  /** Bytes in memory as last measured, or expected of loads in progress. */
  get usedBytes(): number {
    return this.#revisions.sum((revision) => revision.isInMemory);
  }

  get budgetBytes(): number {
    return this.#budgetBytes;
  }

  /** The state of a revision; undefined once it is forgotten. */
  takeRevision(
    id: RevisionId,
  ): Readonly<Pick<RevisionEntry, 'state' | 'bytes' | 'isInMemory' | 'reason' | 'isOver'>> | undefined {
    return this.#revisions.takeKnown(id);
  }

  /** Whether the context is still listed: one that was dropped can only be added anew by `wanted`. */
  isKnown(context: ContextName): boolean {
    return this.#contexts.has(context);
  }

  isPinned(context: ContextName): boolean {
    return this.#contexts.get(context)?.isPinned ?? false;
  }

  #wanted(wanted: WantedRevision): void {
    const { context: name } = wanted;
    const context = this.#contexts.get(name) ?? new ContextEntry(name);
    this.#contexts.set(name, context);
    context.dropAfter = undefined;
    const revision = new RevisionEntry(wanted, context, (changed) => this.#versions.mark(changed));
    this.#revisions.add(revision);
    const { current, next } = context;
    if (next !== undefined) this.#revisions.discard(next, 'replaced');
    context.next = undefined;
    if (current?.state === 'ready') {
      context.next = revision;
      return;
    }
    context.current = revision;
    if (current === undefined) return;
    const wasSetAside = current.isAvailable && !context.isCalledFor;
    revision.isOnDemand = current.isOnDemand;
    this.#revisions.discard(current, 'replaced');
    // The old revision was not in memory for anybody, so nobody needs the new one yet.
    if (wasSetAside) this.#revisions.setAside(revision);
  }

  #unwanted(name: ContextName, after: readonly ContextName[]): void {
    const context = this.#contexts.get(name);
    if (context !== undefined) context.dropAfter = after;
  }

  #clearDrop(name: ContextName): void {
    const context = this.#contexts.get(name);
    if (context !== undefined) context.dropAfter = undefined;
  }

  #dropWhatMayGo(): void {
    for (const context of this.#contexts.values()) {
      if (context.dropAfter === undefined) continue;
      if (!context.dropAfter.every((name) => this.#contexts.get(name)?.current?.isAvailable === true)) continue;
      this.#contexts.delete(context.name);
      if (context.next !== undefined) this.#revisions.discard(context.next, 'unwanted');
      if (context.current !== undefined) this.#revisions.discard(context.current, 'unwanted');
      this.#refuseAll(context, refusals.unloaded(context));
    }
  }

  #reported(event: EventOf<'servable' | 'unservable' | 'pending'>, nowMs: number): void {
    const revision = this.#revisions.takeKnown(event.revision);
    const member = revision?.members[event.member];
    if (revision === undefined || member === undefined || revision.state === 'unloading') return;
    member.report = event.kind;
    member.reason = event.kind === 'servable' ? '' : event.reason;
    member.isFinal = event.kind === 'unservable' && event.isFinal;
    if (event.kind === 'unservable') revision.jitter = event.jitter;
    this.#versions.mark(revision);
    if (revision.state === 'loading')
      this.#endLoad(revision, event.kind === 'pending' ? 0 : event.residentBytes, nowMs);
  }

  #settled(id: RevisionId, residentBytes: number, nowMs: number): void {
    const revision = this.#revisions.takeKnown(id);
    if (revision === undefined) return;
    revision.isSettled = true;
    if (revision.state === 'loading') this.#endLoad(revision, residentBytes, nowMs);
    // Workers of a load that failed hold nothing: that is no measurement of the model. One that is leaving still takes its memory.
    else if (revision.state === 'ready' || revision.state === 'retiring') this.#measured(id, residentBytes);
  }

  #endLoad(revision: RevisionEntry, residentBytes: number, nowMs: number): void {
    const outcome = takeLoadOutcome(revision, this.#versions);
    if (outcome?.kind === 'loaded') this.#loaded(revision, residentBytes, nowMs);
    else if (outcome?.kind === 'failed') this.#loadFailed(revision, outcome.reason, outcome.isFinal, nowMs);
  }

  #loaded(revision: RevisionEntry, residentBytes: number, nowMs: number): void {
    const { context } = revision;
    this.#account(revision, residentBytes);
    this.#becomeReady(revision, nowMs);
    revision.isUnsure = false;
    revision.reason = '';
    revision.failures = 0;
    const old = context.next === revision ? context.current : undefined;
    context.current = revision;
    if (context.next === revision) context.next = undefined;
    this.#revisions.serve(revision);
    if (old !== undefined) this.#revisions.discard(old, 'replaced');
    this.#letGoOn(context);
  }

  #loadFailed(revision: RevisionEntry, reason: string, isFinal: boolean, nowMs: number): void {
    const { context, id } = revision;
    const hasOld = context.next === revision;
    // The old one may have been evicted meanwhile; it is loaded again for the next request.
    const isOldServing = hasOld && context.current?.state === 'ready';
    const isTriedAgain = !isFinal && (revision.isRetried || revision.isMeasured);
    let retryInMs: number | undefined;
    if (isTriedAgain) {
      revision.failures += 1;
      retryInMs = pauseAfter(revision.failures, revision.jitter, this.#config.retry);
    }
    revision.retryAt = retryInMs === undefined ? Number.POSITIVE_INFINITY : nowMs + retryInMs;
    revision.reason = reason;
    revision.isOnDemand = false;
    this.#actions.push({ kind: 'failed', revision: id, reason, isOldServing, retryInMs });
    this.#revisions.unload(revision, 'failed');
    if (!hasOld) this.#refuseAll(context, refusals.loadFailed(context, reason, retryInMs));
  }

  #idle(id: RevisionId): void {
    const revision = this.#revisions.takeKnown(id);
    if (revision?.state === 'retiring') this.#revisions.unload(revision, revision.afterUnload);
  }

  #unloaded(id: RevisionId): void {
    const revision = this.#revisions.takeKnown(id);
    if (revision?.state !== 'unloading') return;
    revision.isUnsure = false;
    if (revision.afterUnload === 'failed') revision.state = 'failed';
    else if (revision.afterUnload === 'forgotten') this.#revisions.forget(revision);
    else if (revision.context.isCalledFor) revision.state = 'queued';
    else this.#revisions.setAside(revision);
  }

  #measured(id: RevisionId, residentBytes: number): void {
    const revision = this.#revisions.takeKnown(id);
    if (revision?.isInMemory && revision.state !== 'loading') this.#account(revision, residentBytes);
  }

  #account(revision: RevisionEntry, residentBytes: number): void {
    revision.bytes = residentBytes;
    revision.isMeasured = true;
    revision.context.bytesMeasured = residentBytes;
  }

  #pinned(name: ContextName, isPinned: boolean, nowMs: number): void {
    const context = this.#contexts.get(name);
    if (context === undefined) return;
    context.isPinned = isPinned;
    if (isPinned && context.current !== undefined) this.#callBack(context, context.current, nowMs);
  }

  #demanded({ context: name, waiter, deadlineAt }: EventOf<'demanded'>, nowMs: number): void {
    const context = this.#contexts.get(name);
    const current = context?.current;
    if (context === undefined || current === undefined) {
      this.#refuse(waiter, refusals.notServed(name));
      return;
    }
    const hasFailed = current.state === 'failed' || (current.isLeaving && current.afterUnload === 'failed');
    if (hasFailed) {
      this.#refuse(waiter, refusals.loadFailed(context, current.reason, current.retryAt - nowMs));
      return;
    }
    if (context.waiters.length >= this.#config.demandWaitersMax) {
      this.#refuse(waiter, refusals.tooManyWait(context));
      return;
    }
    context.waiters.push({ waiter, deadlineAt });
    this.#callBack(context, current, nowMs);
  }

  /**
   * Gets the current revision into memory again; one that is being evicted only to make room is kept, if it still can
   * be.
   */
  #callBack(context: ContextEntry, current: RevisionEntry, nowMs: number): void {
    if (context.demandedAt === Number.POSITIVE_INFINITY) context.demandedAt = nowMs;
    if (current.state === 'evicted') current.state = 'queued';
    if (current.state === 'retiring') {
      this.#becomeReady(current, nowMs);
      this.#revisions.serve(current);
    }
    if (current.state === 'ready') this.#letGoOn(context);
  }

  #becomeReady(revision: RevisionEntry, nowMs: number): void {
    revision.state = 'ready';
    revision.isOnDemand = false;
    revision.readyAt = nowMs;
    revision.usedBefore = this.#use.usedAt(revision.id);
    revision.isAwaited = revision.context.waiters.length > 0;
  }

  #letGoOn(context: ContextEntry): void {
    context.demandedAt = Number.POSITIVE_INFINITY;
    for (const { waiter } of context.waiters.splice(0)) this.#actions.push({ kind: 'go-on', waiter });
  }

  #expire(nowMs: number): void {
    for (const context of this.#contexts.values()) {
      if (context.waiters.some(({ deadlineAt }) => deadlineAt <= nowMs)) {
        const late = context.waiters.filter(({ deadlineAt }) => deadlineAt <= nowMs);
        context.waiters = context.waiters.filter(({ deadlineAt }) => deadlineAt > nowMs);
        for (const { waiter } of late) this.#refuse(waiter, refusals.expired(context));
      }
      for (const failed of [context.current, context.next]) {
        if (failed?.state !== 'failed' || failed.retryAt > nowMs) continue;
        failed.state = 'queued';
        failed.retryAt = Number.POSITIVE_INFINITY;
      }
    }
  }

  /** Over the budget by measurement: evicts what could never fit first, then the least recently used. */
  #relieve(nowMs: number): void {
    if (this.#budgetBytes === Number.POSITIVE_INFINITY) return;
    const pinnedBytes = this.#revisions.sum((revision) => revision.context.isPinned && revision.state === 'ready');
    for (const { current, isPinned } of this.#contexts.values()) {
      if (current?.state !== 'ready' || isPinned || current.bytes <= this.#budgetBytes - pinnedBytes) continue;
      this.#evict(current);
    }
    const stays = this.#revisions.sum(({ state, isUnsure }) => state === 'ready' || (state === 'loading' && !isUnsure));
    if (stays <= this.#budgetBytes) return;
    const { residencyMsMin } = this.#config;
    const bytes = stays - this.#budgetBytes;
    const choice = chooseVictims(this.#contexts.values(), this.#use, {
      bytes,
      beneficiary: undefined,
      residencyMsMin,
      nowMs,
    });
    for (const victim of choice.victims) this.#evict(victim);
    if (!choice.isEnough) this.#recheckAt = Math.min(this.#recheckAt, choice.recheckAt);
  }

  #startLoads(nowMs: number): void {
    for (const revision of loadOrder(this.#revisions.values())) {
      if (this.#revisions.count((one) => one.state === 'loading') >= this.#config.loadsMax) return;
      if (this.#isHeldBack(revision, nowMs)) {
        this.#recheckAt = Math.min(this.#recheckAt, this.#headStartEndsAt);
        return;
      }
      const decision = loadDecisionFor(revision, {
        revisions: this.#revisions.values(),
        budgetBytes: this.#budgetBytes,
        isReplacement: this.#isReplacement(revision),
      });
      switch (decision.kind) {
        case 'enough':
          this.#revisions.load(revision, decision.isUnsure);
          break;
        case 'none':
          this.#revisions.setAside(revision);
          break;
        case 'never':
          this.#refuseAll(revision.context, refusals.contextTooLarge(revision, this.#budgetBytes));
          this.#revisions.setAside(revision);
          break;
        case 'wait':
          return;
        case 'after-another':
          break;
        case 'evict':
          if (this.#evictFor(revision, decision.bytes, nowMs) || !decision.mayGoOver) return;
          this.#revisions.load(revision, true);
          break;
      }
    }
  }

  /** Processes that start at the same time slow each other down: those that streams wait for start alone. */
  #isHeldBack(revision: RevisionEntry, nowMs: number): boolean {
    if (nowMs >= this.#headStartEndsAt || revision.hasOpenStreams || revision.context.isCalledFor) return false;
    return this.#revisions.count(({ hasOpenStreams, state }) => hasOpenStreams && state === 'loading') > 0;
  }

  /** True when there will be room; otherwise nothing is evicted in vain. */
  #evictFor(revision: RevisionEntry, bytes: number, nowMs: number): boolean {
    const choice = chooseVictims(this.#contexts.values(), this.#use, {
      bytes,
      beneficiary: revision.context,
      residencyMsMin: this.#config.residencyMsMin,
      nowMs,
    });
    if (!choice.isEnough) {
      this.#recheckAt = Math.min(this.#recheckAt, choice.recheckAt);
      return false;
    }
    for (const victim of choice.victims) this.#evict(victim);
    return true;
  }

  /** Its replacement is loaded on demand instead. */
  #evict(revision: RevisionEntry): void {
    const { context } = revision;
    const successor = context.next;
    if (successor?.state !== 'queued') {
      this.#revisions.retire(revision, 'evicted');
      return;
    }
    context.current = successor;
    context.next = undefined;
    this.#revisions.retire(revision, 'replaced');
    this.#revisions.setAside(successor);
  }

  /** Another revision serves, and is unloaded once this is loaded. */
  #isReplacement(revision: RevisionEntry): boolean {
    const { context } = revision;
    if (context.next === revision) return true;
    for (const { dropAfter, current } of this.#contexts.values()) {
      if (current?.state === 'ready' && dropAfter?.includes(context.name)) return true;
    }
    return false;
  }

  #takeWaiter(id: WaiterId): ContextWaiter | undefined {
    for (const context of this.#contexts.values()) {
      const index = context.waiters.findIndex(({ waiter }) => waiter === id);
      if (index >= 0) return context.waiters.splice(index, 1)[0];
    }
    return undefined;
  }

  #refuseAll(context: ContextEntry, refusal: refusals.DemandRefusal): void {
    context.demandedAt = Number.POSITIVE_INFINITY;
    for (const { waiter } of context.waiters.splice(0)) this.#refuse(waiter, refusal);
  }

  #refuse(waiter: WaiterId, refusal: refusals.DemandRefusal): void {
    this.#actions.push({ kind: 'refuse', waiter, ...refusal });
  }

  #askToWake(nowMs: number): void {
    let at = this.#recheckAt;
    this.#recheckAt = Number.POSITIVE_INFINITY;
    for (const { waiters, current, next } of this.#contexts.values()) {
      for (const { deadlineAt } of waiters) at = Math.min(at, deadlineAt);
      for (const one of [current, next]) if (one?.state === 'failed') at = Math.min(at, one.retryAt);
    }
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    this.#actions.push({ kind: 'wake-at', at: Math.max(at, nowMs) });
  }
}
