import { Keeper } from '../keeper.ts';
import type { KeeperConfig } from '../keeper-config.ts';
import type { KeeperAction, KeeperEvent, WantedRevision } from '../keeper-events.ts';
import type { VersionName } from '../version-status.ts';

/** A keeper with its clock and the use of its contexts. */
export class KeeperHarness {
  now = 1000;
  readonly used = new Map<number, number>();
  readonly busy = new Set<number>();
  readonly keeper: Keeper;
  readonly #states: string[] = [];

  constructor(config: Partial<KeeperConfig> = {}) {
    const use = { usedAt: (id: number) => this.used.get(id), isInUse: (id: number) => this.busy.has(id) };
    this.keeper = new Keeper(use, config);
  }

  /** What it has done about the event, in short; changed states of versions are left out. */
  tell(event: KeeperEvent): readonly string[] {
    this.keeper.handle(event, this.now);
    const actions = this.keeper.takeActions();
    for (const action of actions) this.#note(action);
    return actions.flatMap(textOf);
  }

  /** A context of one version, which has its name, unless others are given as `model:version`. */
  want(
    context: string,
    revision: number,
    bytesExpected = 10,
    isRetried = true,
    versions = [context],
  ): readonly string[] {
    return this.wantAll([this.wanted(context, revision, bytesExpected, isRetried, versions)]);
  }

  wanted(
    context: string,
    revision: number,
    bytesExpected = 10,
    isRetried = true,
    versions = [context],
    hasOpenStreams = false,
  ): WantedRevision {
    return { context, revision, versions: versions.map(versionFrom), bytesExpected, isRetried, hasOpenStreams };
  }

  wantAll(revisions: readonly WantedRevision[]): readonly string[] {
    return this.tell({ kind: 'wanted', revisions });
  }

  /** Every worker of the revision has loaded all of it. */
  loaded(revision: number, residentBytes = 10, members = 1): readonly string[] {
    const told = Array.from({ length: members }, (_, member) => this.servable(revision, member, residentBytes));
    return [...told.flat(), ...this.settled(revision, residentBytes)];
  }

  servable(revision: number, member = 0, residentBytes = 10): readonly string[] {
    return this.tell({ kind: 'servable', revision, member, residentBytes });
  }

  settled(revision: number, residentBytes = 10): readonly string[] {
    return this.tell({ kind: 'settled', revision, residentBytes });
  }

  failed(revision: number, isFinal = false, member = 0, reason = 'no such operator'): readonly string[] {
    return this.tell({ kind: 'unservable', revision, member, reason, residentBytes: 10, jitter: 0, isFinal });
  }

  /** The states that have changed since the last call, in short. */
  takeStates(): readonly string[] {
    return this.#states.splice(0);
  }

  demand(context: string, waiter: number, deadlineAt = Number.POSITIVE_INFINITY): readonly string[] {
    return this.tell({ kind: 'demanded', context, waiter, deadlineAt });
  }

  idle(revision: number): readonly string[] {
    return this.tell({ kind: 'idle', revision });
  }

  unloaded(revision: number): readonly string[] {
    return this.tell({ kind: 'unloaded', revision });
  }

  tickAt(now: number): readonly string[] {
    this.now = now;
    return this.tell({ kind: 'tick' });
  }

  /** Wants, loads and uses a context of this size. */
  bring(context: string, revision: number, bytes: number): void {
    this.want(context, revision, bytes);
    this.loaded(revision, bytes);
    this.now += 1;
    this.used.set(revision, this.now);
  }

  #note(action: KeeperAction): void {
    if (action.kind === 'version-removed') this.#states.push(`${action.model}:${action.version} removed`);
    if (action.kind === 'version-state') this.#states.push(stateText(action));
  }
}

function versionFrom(text: string): VersionName {
  const [model = '', version = '1'] = text.split(':');
  return { model, version };
}

/** For instance `m:1 failed by 2 (no memory), tolerated`. */
function stateText({ model, version, by, status }: Extract<KeeperAction, { kind: 'version-state' }>): string {
  const { state, reason, replacementReason, isTolerated, hasServed, isAwaited } = status;
  const notes = [
    ...(isTolerated ? ['tolerated'] : []),
    ...(isAwaited ? ['awaited'] : []),
    ...(state === 'failed' && !hasServed ? ['never served'] : []),
    ...(replacementReason === '' ? [] : [`not replaced: ${replacementReason}`]),
  ];
  const why = state === 'failed' ? ` (${reason})` : '';
  return [`${model}:${version} ${state} by ${by?.revision ?? 'nothing'}${why}`, ...notes].join(', ');
}

function textOf(action: KeeperAction): string | readonly string[] {
  switch (action.kind) {
    case 'version-state':
    case 'version-removed':
      return [];
    case 'go-on':
      return `go-on ${action.waiter}`;
    case 'refuse':
      return `refuse ${action.waiter} ${action.code}${action.retryAfterMs === undefined ? '' : ` ${action.retryAfterMs}`}`;
    case 'wake-at':
      return `wake-at ${action.at}`;
    case 'retire':
      return `retire ${action.revision} ${action.why}`;
    case 'failed':
      return `failed ${action.revision} ${action.isOldServing ? 'old serves' : `again in ${action.retryInMs}`}`;
    default:
      return `${action.kind} ${action.revision}`;
  }
}
