/**
 * Judges what the router does to its workers: it gives batches only to those that have the model and the room, ends them
 * only for a reason, and gives back all memory, once. What workers say and hold is all that it knows.
 */
import type { FromWorker, ToWorker } from '@millrace/protocol';
import type { ServedModel } from '@millrace/router/catalogue';
import type { SimulatedRegion } from '../lane/simulated-region.ts';
import type { SimulatedRepository } from '../repository/simulated-repository.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { claim } from '../world/truth.ts';

/** One worker as the router can know it. */
export interface LinkRecord {
  readonly pid: number;
  /** When it was last given something to load. */
  /** When each model that is loading was sent. */
  readonly loadSentAt: Map<number, number>;
  readonly models: Map<number, 'loading' | 'ready' | 'failed'>;
  /** It was given something to load. */
  wasLoading: boolean;
  /** By model: when the worker last said that it is not loaded. */
  readonly forgottenAt: Map<number, number>;
  /** By handle: how long a run of the model may take. */
  readonly runMsMax: Map<number, number>;
  /** By batch that is not answered: when it was sent, and for which model. */
  readonly outstanding: Map<number, { readonly model: number; readonly sentAt: number; isCancelled: boolean }>;
  /** By call to another model that is not answered: the batch that made it. */
  readonly calls: Map<number, number>;
  /** The batches that ended when one last did. */
  lastEnded: { readonly at: number; readonly batches: number[] };
  /** When an answer arrived last that was too late: its run limit may have been noticed in the same millisecond. */
  overdueAt: number | undefined;
  credit: number;
  /** What it was before it fell last, and when that was. */
  creditBefore: number;
  creditFellAt: number;
  stoppedAt: number | undefined;
}

export interface LaneLimits {
  readonly loadMsMax: number;
  /** How long a worker without work may take to end. */
  readonly stopMsMax: number;
}

/** Timers fire up to a millisecond early. */
const timerMs = 1;
/** How long after its decision a batch may be sent, if its inputs are large. */
const slicesMs = 5;

export class LaneReferee {
  readonly #world: SimulatedWorld;
  readonly #repository: SimulatedRepository;
  readonly #limits: LaneLimits;
  readonly #links = new Map<number, LinkRecord>();
  readonly #regions = new Set<SimulatedRegion>();
  /** By handle: the file that the model was read from. */
  readonly #stamps = new Map<number, number>();

  constructor(world: SimulatedWorld, repository: SimulatedRepository, limits: LaneLimits) {
    this.#world = world;
    this.#repository = repository;
    this.#limits = limits;
  }

  opened(pid: number): LinkRecord {
    const record: LinkRecord = {
      pid,
      loadSentAt: new Map(),
      models: new Map(),
      wasLoading: false,
      forgottenAt: new Map(),
      runMsMax: new Map(),
      outstanding: new Map(),
      calls: new Map(),
      lastEnded: { at: 0, batches: [] },
      overdueAt: undefined,
      credit: 0,
      creditBefore: 0,
      creditFellAt: Number.NEGATIVE_INFINITY,
      stoppedAt: undefined,
    };
    this.#links.set(pid, record);
    return record;
  }

  noteMade({ handle, view }: ServedModel): void {
    this.#stamps.set(handle, Number(view.config.stamp));
  }

  noteRegion(region: SimulatedRegion): void {
    this.#regions.add(region);
  }

  sent(link: LinkRecord, message: ToWorker): void {
    const { nowMs } = this.#world;
    switch (message.kind) {
      case 'load': {
        const { model, path } = message.spec;
        const state = link.models.get(model);
        claim(
          state !== 'loading' && state !== 'ready',
          `process ${link.pid} is told to load ${path}, which is ${state}`,
        );
        claim(link.stoppedAt === undefined, `process ${link.pid} is told to load ${path} after it was told to end`);
        link.models.set(model, 'loading');
        link.wasLoading = true;
        const stamp = this.#stamps.get(model);
        claim(stamp !== undefined, `process ${link.pid} is told to load ${path}, of which nothing was read`);
        link.runMsMax.set(model, this.#repository.mustFile(stamp).policy.runMsMax);
        link.loadSentAt.set(model, nowMs);
        break;
      }
      case 'unload': {
        const { model } = message;
        // One that it has forgotten is unloaded all the same: only the data plane was told.
        const isKnown = link.models.get(model) === 'ready' || link.forgottenAt.has(model);
        claim(isKnown, `process ${link.pid} is told to unload a model that it has not`);
        const isHeld = [...link.outstanding.values()].some((held) => held.model === model);
        claim(!isHeld, `process ${link.pid} is told to unload a model of which it holds batches`);
        link.models.delete(model);
        break;
      }
      case 'dispatch': {
        const { batch, model } = message;
        // It may have been decided before the worker said that it lost the model.
        const hasJustForgotten = nowMs - (link.forgottenAt.get(model) ?? Number.NEGATIVE_INFINITY) <= slicesMs;
        const isLoaded = link.models.get(model) === 'ready' || hasJustForgotten;
        claim(isLoaded, `process ${link.pid} is given batch ${batch} of a model it has not`);
        // A batch whose inputs are copied in slices may have been decided before the credit fell.
        const credit = nowMs - link.creditFellAt <= slicesMs ? Math.max(link.creditBefore, link.credit) : link.credit;
        claim(link.outstanding.size < credit, `process ${link.pid} is given batch ${batch} without credit`);
        claim(link.stoppedAt === undefined, `process ${link.pid} is given batch ${batch} after it was told to end`);
        link.outstanding.set(batch, { model, sentAt: nowMs, isCancelled: false });
        break;
      }
      case 'cancel': {
        const held = link.outstanding.get(message.batch);
        // Its answer may have come in the same turn as the cancellation.
        const hasJustEnded = link.lastEnded.batches.includes(message.batch) && link.lastEnded.at === nowMs;
        const isKnown = held !== undefined || hasJustEnded;
        claim(isKnown, `process ${link.pid} is told to cancel batch ${message.batch}, which it has not`);
        claim(held?.isCancelled !== true, `process ${link.pid} is told to cancel batch ${message.batch} twice`);
        if (held !== undefined) held.isCancelled = true;
        break;
      }
      case 'grant':
        claim(
          link.outstanding.has(message.batch),
          `process ${link.pid} is given credit for ${message.batch}, which ended`,
        );
        break;
      case 'call-answered':
      case 'call-failed':
        claim(
          link.calls.delete(message.call),
          `call ${message.call} of process ${link.pid} is answered twice or ended`,
        );
        break;
    }
  }

  received(link: LinkRecord, message: FromWorker): void {
    switch (message.kind) {
      case 'credit':
        if (message.batchesMax < link.credit) {
          link.creditBefore = link.credit;
          link.creditFellAt = this.#world.nowMs;
        }
        link.credit = message.batchesMax;
        break;
      case 'ready':
        link.models.set(message.model, 'ready');
        break;
      case 'load-failed':
        link.models.set(message.model, 'failed');
        break;
      case 'answered':
      case 'failed': {
        const ended = link.outstanding.get(message.batch);
        link.outstanding.delete(message.batch);
        if (ended !== undefined && this.#isOverdue(link, ended)) link.overdueAt = this.#world.nowMs;
        for (const [call, batch] of link.calls) if (batch === message.batch) link.calls.delete(call);
        if (link.lastEnded.at !== this.#world.nowMs) link.lastEnded = { at: this.#world.nowMs, batches: [] };
        link.lastEnded.batches.push(message.batch);
        const isForgotten = message.kind === 'failed' && message.code === 'unknown-model';
        if (isForgotten && ended !== undefined) {
          link.models.set(ended.model, 'failed');
          link.forgottenAt.set(ended.model, this.#world.nowMs);
        }
        break;
      }
      case 'call':
        link.calls.set(message.call, message.batch);
        break;
      case 'gone':
        this.#links.delete(link.pid);
        break;
    }
  }

  #isOverdue(link: LinkRecord, { model, sentAt }: { readonly model: number; readonly sentAt: number }): boolean {
    return this.#world.nowMs - sentAt >= (link.runMsMax.get(model) ?? 0) - timerMs;
  }

  stopped(link: LinkRecord): void {
    link.stoppedAt ??= this.#world.nowMs;
  }

  /** Workers are killed for a load, a run or an end that takes too long, and for nothing else. */
  killed(link: LinkRecord): void {
    const { nowMs } = this.#world;
    const { loadMsMax, stopMsMax } = this.#limits;
    // The time of a load begins before its files are compared, after those of the loads before it.
    const checksMs = this.#repository.checkMsMax * 2 * link.loadSentAt.size;
    const isSlowLoad = [...link.models].some(
      ([model, state]) =>
        state === 'loading' && nowMs - (link.loadSentAt.get(model) ?? nowMs) >= loadMsMax - timerMs - checksMs,
    );
    const isSlowEnd = nowMs - (link.stoppedAt ?? nowMs) >= stopMsMax - timerMs;
    const isOverdue = [...link.outstanding.values()].some((batch) => this.#isOverdue(link, batch));
    const isSlowRun = isOverdue || link.overdueAt === nowMs;
    // It waited for a model, and is not needed any more.
    const isStandby = this.#world.standbys > 0 && !link.wasLoading;
    claim(isSlowLoad || isSlowEnd || isSlowRun || isStandby, `process ${link.pid} is killed for nothing`);
  }

  atEnd(): void {
    claim(this.#links.size === 0, `processes are left at the end: ${[...this.#links.keys()].join(' ')}`);
    const kept = [...this.#regions].find(({ isReleased }) => !isReleased);
    claim(kept === undefined, `memory ${kept?.title} is never given back`);
  }
}
