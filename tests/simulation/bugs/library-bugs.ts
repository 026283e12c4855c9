/** Keepers and registries with one bug each. */
import {
  type ContextUse,
  Keeper,
  type KeeperAction,
  type KeeperConfig,
  type KeeperEvent,
  type RevisionId,
  type VersionName,
  type VersionStatus,
} from '@millrace/core';
import {
  type ResolvedModel,
  type ServedModel,
  ServedModels,
  TrafficCatalogue,
  type TrafficCatalogueParts,
} from '@millrace/router/catalogue';
import type { DrivenKeeper } from '@millrace/router/internal';
import type { Deciders } from '../shell.ts';

/** A correct keeper behind a faulty layer. */
class Layer implements DrivenKeeper {
  protected readonly inner: Keeper;

  constructor(use: ContextUse, config: Partial<KeeperConfig>) {
    this.inner = new Keeper(use, config);
  }

  handle(event: KeeperEvent, nowMs: number): void {
    this.inner.handle(event, nowMs);
  }

  takeActions(): readonly KeeperAction[] {
    return this.inner.takeActions().flatMap((action) => this.bend(action));
  }

  isKnown(context: string): boolean {
    return this.inner.isKnown(context);
  }

  isPinned(context: string): boolean {
    return this.inner.isPinned(context);
  }

  takeRevision(id: RevisionId): ReturnType<DrivenKeeper['takeRevision']> {
    return this.inner.takeRevision(id);
  }

  get usedBytes(): number {
    return this.inner.usedBytes;
  }

  get budgetBytes(): number {
    return this.inner.budgetBytes;
  }

  protected bend(action: KeeperAction): KeeperAction | readonly KeeperAction[] {
    return action;
  }
}

class UnloadsWhatIsInUse extends Layer {
  readonly #unloaded = new Set<number>();

  protected override bend(action: KeeperAction): KeeperAction | readonly KeeperAction[] {
    if (action.kind === 'retire') {
      this.#unloaded.add(action.revision);
      return [action, { kind: 'unload', revision: action.revision }];
    }
    return action.kind === 'unload' && this.#unloaded.has(action.revision) ? [] : action;
  }
}

/** Believes that no context is ever used. */
class EvictsTheBusiest extends Layer {
  constructor(use: ContextUse, config: Partial<KeeperConfig>) {
    super({ usedAt: (id) => use.usedAt(id), isInUse: () => false }, config);
  }

  /** Also believes that every context is idle. */
  override takeActions(): readonly KeeperAction[] {
    const actions = [...super.takeActions()];
    for (const action of actions.slice()) {
      if (action.kind !== 'retire' || action.why !== 'evicted') continue;
      this.inner.handle({ kind: 'idle', revision: action.revision }, 0);
      actions.push(...this.inner.takeActions());
    }
    return actions;
  }
}

class HasTwiceTheBudget extends Layer {
  override handle(event: KeeperEvent, nowMs: number): void {
    super.handle(event.kind === 'budget' ? { ...event, bytesMax: 2 * event.bytesMax } : event, nowMs);
  }
}

class ForgetsSomeWaiters extends Layer {
  #count = 0;

  protected override bend(action: KeeperAction): KeeperAction | readonly KeeperAction[] {
    if (action.kind !== 'go-on') return action;
    this.#count += 1;
    return this.#count % 10 === 0 ? [] : action;
  }
}

class LetsGoOnTooEarly extends Layer {
  readonly #early: KeeperAction[] = [];

  override handle(event: KeeperEvent, nowMs: number): void {
    if (event.kind === 'demanded') this.#early.push({ kind: 'go-on', waiter: event.waiter });
    else super.handle(event, nowMs);
  }

  override takeActions(): readonly KeeperAction[] {
    return [...super.takeActions(), ...this.#early.splice(0)];
  }
}

class KnowsNoPins extends Layer {
  override handle(event: KeeperEvent, nowMs: number): void {
    super.handle(event.kind === 'pinned' ? { ...event, isPinned: false } : event, nowMs);
  }
}

class KnowsNoStreams extends Layer {
  override handle(event: KeeperEvent, nowMs: number): void {
    if (event.kind !== 'wanted') super.handle(event, nowMs);
    else {
      const revisions = event.revisions.map((wanted) => ({ ...wanted, hasOpenStreams: false }));
      super.handle({ ...event, revisions }, nowMs);
    }
  }
}

class NeverAsksToBeWoken extends Layer {
  protected override bend(action: KeeperAction): KeeperAction | readonly KeeperAction[] {
    return action.kind === 'wake-at' ? [] : action;
  }
}

class ForgetsWhatIsLoaded extends Layer {
  #count = 0;

  override handle(event: KeeperEvent, nowMs: number): void {
    if (event.kind === 'servable') this.#count += 1;
    if (event.kind !== 'servable' || this.#count % 5 !== 0) super.handle(event, nowMs);
  }
}

/** Resolves labels as they were before they were last moved. */
class SeesLabelsTooLate extends TrafficCatalogue {
  readonly #traffic: TrafficCatalogueParts['traffic'];
  readonly #before = new Map<string, readonly (readonly [string, string])[]>();
  #now = new Map<string, readonly (readonly [string, string])[]>();
  readonly #names = new Set<string>();

  constructor(parts: TrafficCatalogueParts) {
    super(parts);
    this.#traffic = parts.traffic;
    parts.traffic.onChange(() => {
      const now = new Map(
        [...this.#names].map((name) => [name, [...(this.#traffic.take(name)?.labels ?? [])]] as const),
      );
      for (const [name, labels] of this.#now) this.#before.set(name, labels);
      this.#now = now;
    });
  }

  override resolve(name: string, version: string, draw: () => number): ResolvedModel {
    const [model = '', label] = name.split('@');
    this.#names.add(model);
    const before = new Map(this.#before.get(model) ?? []).get(label ?? '');
    return before === undefined ? super.resolve(name, version, draw) : { model, version: before };
  }
}

/** Takes the lowest version for the one that is meant by a name alone. */
class PrefersTheOldest extends ServedModels {
  override takeServed(name: string, version: string): ServedModel | undefined {
    const oldest = version === '' ? this.readyVersions(name)[0] : version;
    return super.takeServed(name, oldest ?? version);
  }
}

/** Keeps sending requests to retiring revisions. */
class SendsToTheRetired extends ServedModels {
  override show(name: VersionName, status: VersionStatus, model: ServedModel | undefined): void {
    const isServed = super.takeServed(name.model, name.version) !== undefined;
    if (status.state !== 'evicted' || !isServed) super.show(name, status, model);
  }
}

/** Shows the state of a new revision as that of the one before. */
class KeepsThePredecessor extends ServedModels {
  override show(name: VersionName, status: VersionStatus, model: ServedModel | undefined): void {
    super.show(name, status, this.takeModel(name.model, name.version) ?? model);
  }
}

const keepers: readonly (readonly [string, Deciders['createKeeper']])[] = [
  ['a keeper that unloads what is in use', (use, config) => new UnloadsWhatIsInUse(use, config)],
  ['a keeper that takes what it evicts for idle', (use, config) => new EvictsTheBusiest(use, config)],
  ['a keeper that fills twice the budget', (use, config) => new HasTwiceTheBudget(use, config)],
  [
    'a keeper that loads one more at once than it may',
    (use, config) => new Layer(use, { ...config, loadsMax: (config.loadsMax ?? 0) + 1 }),
  ],
  ['a keeper that forgets some of those who wait', (use, config) => new ForgetsSomeWaiters(use, config)],
  ['a keeper that lets requests go on too early', (use, config) => new LetsGoOnTooEarly(use, config)],
  ['a keeper that knows no pins', (use, config) => new KnowsNoPins(use, config)],
  ['a keeper that does not know which models streams wait for', (use, config) => new KnowsNoStreams(use, config)],
  ['a keeper that never asks to be woken', (use, config) => new NeverAsksToBeWoken(use, config)],
  ['a keeper that does not hear of every load', (use, config) => new ForgetsWhatIsLoaded(use, config)],
];

export const libraryBugs: ReadonlyMap<string, Partial<Deciders>> = new Map<string, Partial<Deciders>>([
  ...keepers.map(([name, createKeeper]) => [name, { createKeeper }] as const),
  ['a registry that sees moved labels too late', { createCatalogue: (parts) => new SeesLabelsTooLate(parts) }],
  ['a registry that prefers the oldest version', { createModels: () => new PrefersTheOldest() }],
  ['a registry that sends requests to what was evicted', { createModels: () => new SendsToTheRetired() }],
  ['a registry that keeps the predecessor of a revision', { createModels: () => new KeepsThePredecessor() }],
]);
