/** What should be served: contexts are wanted, changed, kept and no longer wanted, as when an operator changes a repository. */
import type { ModelPolicy, RevisionId, WaiterId } from '@millrace/core';
import { ServedModel } from '@millrace/router/catalogue';
import type { Member, SimulatedContext } from './layout.ts';
import { policyFor } from './policies.ts';
import type { SimulatedLoader, SimulatedLoaderParts, SimulatedRevision } from './simulated-loader.ts';
import type { SimulatedWorkerGroup } from './worker-group.ts';

export class Library {
  readonly #parts: Pick<SimulatedLoaderParts, 'world' | 'keeper' | 'referee'>;
  readonly #loader: SimulatedLoader;
  readonly #wanted = new Set<string>();
  readonly #pins = new Set<string>();
  #revisionCount = 0;

  constructor(parts: Pick<SimulatedLoaderParts, 'world' | 'keeper' | 'referee'>, loader: SimulatedLoader) {
    this.#parts = parts;
    this.#loader = loader;
    loader.tell({ kind: 'budget', bytesMax: parts.world.weather.budgetBytes });
  }

  /** Has a new revision of the context loaded: the first, or what is to take the place of the present one. */
  want(context: SimulatedContext): void {
    const { world, referee } = this.#parts;
    const { random } = world;
    this.#revisionCount += 1;
    const id = this.#revisionCount;
    const revision: SimulatedRevision = {
      id,
      context,
      models: context.members.map((member) => this.#modelOf(member, id, policyFor(context, world))),
      bytes: random.integer(5, 60),
      group: undefined,
      isLoading: false,
      isServing: false,
      isOver: false,
      retirements: 0,
      outcomes: new Map(),
    };
    this.#loader.add(revision);
    this.#wanted.add(context.name);
    const bytesExpected = random.chance(0.5) ? revision.bytes : random.integer(1, 60);
    referee.noteRevision(id, context, revision.models, revision.bytes);
    const versions = context.members.map(({ name, version }) => ({ model: name, version }));
    const wanted = { context: context.name, revision: id, versions, bytesExpected, isRetried: random.chance(0.7) };
    this.#loader.tell({ kind: 'wanted', revisions: [wanted] });
    // Pins are forgotten with a context, and are for whatever stands for it next.
    const isPinned = this.#pins.has(context.name);
    if (isPinned !== this.#parts.keeper.isPinned(context.name)) this.#tellPin(context.name, isPinned);
  }

  pin(context: SimulatedContext, isPinned: boolean): void {
    if (isPinned) this.#pins.add(context.name);
    else this.#pins.delete(context.name);
    if (this.#wanted.has(context.name)) this.#tellPin(context.name, isPinned);
  }

  unwant(context: SimulatedContext): void {
    const { random } = this.#parts.world;
    if (!this.#wanted.delete(context.name)) return;
    const others = [...this.#wanted];
    const after = others.length > 0 && random.chance(0.5) ? [random.pick(others)] : [];
    this.#parts.referee.noteUnwanted(context.name);
    this.#loader.tell({ kind: 'unwanted', context: context.name, after });
  }

  /** It is wanted after all, as it is; false: it is not there any more. */
  keep(context: SimulatedContext): boolean {
    const isThere = this.#loader.revisions().some((one) => one.context === context && !one.isOver);
    if (!isThere || !this.#parts.keeper.isKnown(context.name)) return false;
    this.#wanted.add(context.name);
    this.#parts.referee.noteKept(context.name);
    this.#loader.tell({ kind: 'kept', context: context.name });
    return true;
  }

  isWanted(context: SimulatedContext): boolean {
    return this.#wanted.has(context.name);
  }

  /** Measures the memory of a process. */
  measure(): void {
    const inMemory = this.#loader.revisions().filter(({ group, isLoading }) => group !== undefined && !isLoading);
    if (inMemory.length === 0) return;
    const { id, bytes } = this.#parts.world.random.pick(inMemory);
    this.#loader.tell({ kind: 'measured', revision: id, residentBytes: bytes });
  }

  /** One of the groups of workers there are. */
  takeGroup(): SimulatedWorkerGroup | undefined {
    const groups = this.groups();
    return groups.length === 0 ? undefined : this.#parts.world.random.pick(groups);
  }

  groups(): readonly SimulatedWorkerGroup[] {
    return this.#loader.revisions().flatMap(({ group }) => group ?? []);
  }

  /** One that serves, for changes that need no load. */
  takeServing(): { readonly model: ServedModel; readonly context: SimulatedContext } | undefined {
    const serving = this.#loader.revisions().filter(({ isServing }) => isServing);
    if (serving.length === 0) return undefined;
    const { models, outcomes, context } = this.#parts.world.random.pick(serving);
    const model = models.find(({ key }) => outcomes.get(key) === '');
    return model && { model, context };
  }

  /** The context that has the model brought back; undefined when its revision is over. */
  contextOf(model: ServedModel): string | undefined {
    return this.#loader.revisions().find(({ models }) => models.includes(model))?.context.name;
  }

  demand(context: string, waiter: WaiterId, deadlineAt: number): void {
    this.#parts.referee.noteDemand(context, waiter, deadlineAt);
    this.#loader.tell({ kind: 'demanded', context, waiter, deadlineAt });
  }

  cancelDemand(waiter: WaiterId): void {
    this.#parts.referee.noteDemandCancelled(waiter);
    this.#loader.tell({ kind: 'demand-cancelled', waiter });
  }

  /** Under a key that no other has: one whose revision is forgotten is used again. */
  #modelOf({ name, version }: Member, id: RevisionId, policy: ModelPolicy): ServedModel {
    const plainKey = `${name}:${version}`;
    const isTaken = this.#loader.revisions().some(({ models }) => models.some(({ key }) => key === plainKey));
    return servedModel(name, version, isTaken ? id : 1, policy);
  }

  #tellPin(context: string, isPinned: boolean): void {
    this.#loader.tell({ kind: 'pinned', context, isPinned });
  }
}

function servedModel(name: string, version: string, revision: number, policy: ModelPolicy): ServedModel {
  const view = {
    name,
    version,
    platform: '',
    inputs: [],
    outputs: [],
    isBatched: true,
    rowsMax: policy.rowsMax,
    labels: new Map<string, readonly string[]>(),
    config: {},
  };
  return new ServedModel(view, policy, revision, revision);
}
