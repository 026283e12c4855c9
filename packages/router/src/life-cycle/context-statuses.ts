/** The states of models as operators and the repository index show them. */
import type { Keeper } from '@millrace/core';
import type { ModelState, ModelStatus } from '../catalogue/catalogue.ts';
import type { ServedModels } from '../catalogue/served-models.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { Revision } from './revisions/revision.ts';

export interface ContextStatusParts {
  readonly statuses: readonly ModelStatus[];
  readonly modelOf: (name: string, version: string) => ServedModel | undefined;
  readonly revisionOf: (model: ServedModel) => Revision | undefined;
  readonly keeper: Pick<Keeper, 'takeRevision'>;
  readonly isPinned: (name: string, version: string) => boolean;
  readonly workOf: (model: ServedModel) => { readonly waitingRequests: number; readonly runningRequests: number };
  readonly nowMs: number;
}

/** The reason of a version that is ready although it should have been replaced. */
const servesOnText = 'it continues to serve unchanged; its replacement cannot be served';

/** The state of every version, without paths of this machine. */
export function statusesForCallers(models: ServedModels): readonly ModelStatus[] {
  return models.statuses().map(({ replacementReason, ...status }) => {
    const reason = replacementReason === undefined ? status.reason : `${servesOnText}: ${replacementReason}`;
    return { ...status, reason: models.redactPaths(reason) };
  });
}

/** What an operator sees of every version; labels come from the traffic table. */
export function contextStatuses(parts: ContextStatusParts): readonly ContextStatus[] {
  return parts.statuses.map((status) => {
    const model = parts.modelOf(status.name, status.version);
    const revision = model && parts.revisionOf(model);
    const kept = revision && parts.keeper.takeRevision(revision.id);
    const work = model === undefined ? { waitingRequests: 0, runningRequests: 0 } : parts.workOf(model);
    return {
      ...status,
      ...work,
      labels: [],
      isPinned: parts.isPinned(status.name, status.version),
      // Models that share processes share their memory.
      residentBytes: kept?.isInMemory === true ? Math.round(kept.bytes / (revision?.members.length ?? 1)) : 0,
      areStreamsExact: model?.areStreamsExact,
      idleMs: model?.usedAt === undefined ? undefined : parts.nowMs - model.usedAt,
      instances: revision?.running?.workers ?? 0,
    };
  });
}

/** One model version and all that belongs to it. */
export interface ContextStatus extends ModelStatus {
  readonly labels: readonly string[];
  readonly isPinned: boolean;
  /** Memory of its workers as the system measured it; 0 while it has none. */
  readonly residentBytes: number;
  /** Whether a stream that is rebuilt after a failure goes on bit for bit; undefined: no stateful stream was opened yet. */
  readonly areStreamsExact: boolean | undefined;
  /** Milliseconds since it last had a request; undefined: it had none yet. */
  readonly idleMs: number | undefined;
  readonly waitingRequests: number;
  readonly runningRequests: number;
  readonly instances: number;
  readonly state: ModelState;
}
