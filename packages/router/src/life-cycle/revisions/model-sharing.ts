/**
 * Decides which revisions share a worker with others when they are loaded, and has a model moved to workers of its own
 * when the others suffer from it. A model whose runs were found to be short is moved away from models that were never run:
 * the first run of one of these may take any time. What is too large for sharing is decided in the core (`SmallModels`).
 */
import { type ContextName, resolveSharingPolicy, type SharingPolicy, SmallModels } from '@millrace/core';
import type { WorkerEnd } from '@millrace/protocol';
import type { Clock } from '../../data-plane/clock.ts';
import { SharedModels } from '../../dispatch/shared-workers.ts';
import type { KnownRevisions } from './known-revisions.ts';
import type { Revision } from './revision.ts';
import type { RevisionListener } from './revision-listener.ts';

/** How often the runs of models that share workers are checked. */
const checkMs = 2000;

export interface ModelSharingParts {
  readonly clock: Clock;
  /** Undefined: every model has workers of its own. */
  readonly sharing: Partial<SharingPolicy> | undefined;
  readonly revisions: KnownRevisions;
  readonly listener: Pick<RevisionListener, 'modelMoved' | 'modelSeparated'>;
  /** Has a new revision of the context loaded, which replaces the present one. */
  readonly move: (context: ContextName) => void;
}

export class ModelSharing {
  readonly #parts: ModelSharingParts;
  readonly #small: SmallModels | undefined;
  /** The contents that were moved away from models that were never run. */
  readonly #separated = new Set<string>();
  #checkedAt: number;
  #cancelCheck: (() => void) | undefined;

  constructor(parts: ModelSharingParts) {
    this.#parts = parts;
    this.#small = parts.sharing && new SmallModels(resolveSharingPolicy(parts.sharing));
    this.#checkedAt = parts.clock.now();
    if (this.#small !== undefined) this.#checkLater();
  }

  /** Whether the revision is to be loaded by a worker that others share. */
  isShared({ plan }: Revision): boolean {
    const [member, ...others] = plan.members;
    if (this.#small === undefined || member === undefined || others.length > 0) return false;
    const { lane, isGroupShared, sharesWorker, placements, isSpinning } = member.definition;
    const isPlain = lane === 'local' && sharesWorker && !isGroupShared && plan.workers === 1 && !isSpinning;
    if (!isPlain || placements.some(({ gpu }) => gpu !== undefined)) return false;
    return this.#small.reasonForOwn(plan.identity, plan.fileBytes) === undefined;
  }

  isMeasured({ plan }: Revision): boolean {
    return this.#small?.isMeasured(plan.identity) ?? false;
  }

  noteLoaded(revision: Revision, processorMs: number): void {
    if (!(revision.running instanceof SharedModels)) return;
    this.#moveFor(revision, this.#small?.noteLoaded(revision.plan.identity, processorMs));
  }

  noteWorkerEnded(revision: Revision, end: WorkerEnd): void {
    if (!(revision.running instanceof SharedModels)) return;
    this.#moveFor(revision, this.#small?.noteWorkerEnded(revision.plan.identity, end, this.#parts.clock.now()));
  }

  /** Nothing of the revision is left. What was measured holds for others with the same files. */
  forget({ plan: { identity } }: Revision): void {
    if (this.#parts.revisions.all().some(({ plan }) => plan.identity === identity)) return;
    this.#small?.forget(identity);
    this.#separated.delete(identity);
  }

  stop(): void {
    this.#cancelCheck?.();
  }

  #checkLater(): void {
    this.#cancelCheck = this.#parts.clock.alarm(checkMs, () => {
      this.#check();
      this.#checkLater();
    });
  }

  #check(): void {
    const { clock, revisions } = this.#parts;
    const periodMs = clock.now() - this.#checkedAt;
    this.#checkedAt = clock.now();
    let busiest: { readonly revision: Revision; readonly busyMs: number } | undefined;
    for (const revision of revisions.all()) {
      const { running, plan } = revision;
      if (!(running instanceof SharedModels)) continue;
      for (const { runTimes } of revision.models) {
        const { runs, shortestMicros } = runTimes;
        const measured = {
          runs,
          shortestMs: shortestMicros / 1000,
          busyMs: runTimes.takeBusyMs(),
          periodMs,
          hasNeighbours: running.hasNeighbours,
        };
        this.#moveFor(revision, this.#small?.noteRuns(plan.identity, measured));
        if (!this.#isSeparable(revision, running)) continue;
        if (busiest === undefined || measured.busyMs > busiest.busyMs) busiest = { revision, busyMs: measured.busyMs };
      }
    }
    // One at a time: while a model is loaded, the others of its new worker wait.
    if (busiest !== undefined) this.#separate(busiest.revision);
  }

  /** Whether it is to be moved away from models that were never run. */
  #isSeparable(revision: Revision, running: SharedModels): boolean {
    const { plan } = revision;
    if (!this.isMeasured(revision)) return false;
    running.noteMeasured();
    // Sequences would lose their state if they went on for long.
    const hasSequences = plan.members.some(({ version }) => version.sequencing !== undefined);
    return running.hasUnmeasuredNeighbours && !hasSequences && !this.#separated.has(plan.identity);
  }

  #separate({ plan, models }: Revision): void {
    this.#separated.add(plan.identity);
    for (const model of models) this.#parts.listener.modelSeparated(model);
    this.#parts.clock.endOfTurn(() => this.#parts.move(plan.name));
  }

  /** A model that has its worker for itself already only keeps it. */
  #moveFor({ running, plan, models }: Revision, reason: string | undefined): void {
    if (reason === undefined || !(running instanceof SharedModels)) return;
    running.reserve();
    if (!running.hasNeighbours) return;
    for (const model of models) this.#parts.listener.modelMoved(model, reason);
    // What tells of it is being handled now.
    this.#parts.clock.endOfTurn(() => this.#parts.move(plan.name));
  }
}
