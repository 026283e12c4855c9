/** Composes the runner of a model: what its requests pass before the data plane's queue. */
import { AnswerHoldings, type FlightLimits, Flights, type StoredResultsLimits } from '@millrace/core';
import type { EnsembleDefinition } from '../model/ensemble-definition.ts';
import type { CacheChoice } from '../model/model-definition.ts';
import type { RunnerSpec } from '../model/runner-spec.ts';
import type { Sequencing } from '../model/sequencing.ts';
import { CachingRunner, type WaitingRequest } from './cache/caching-runner.ts';
import { ResultCache } from './cache/result-cache.ts';
import type { Clock } from './clock.ts';
import { EnsembleRunner, type InferStep } from './ensemble/ensemble-runner.ts';
import type { Runner } from './infer.ts';
import type { DataPlaneObserver } from './observer.ts';
import { SequenceRunner } from './sequences/sequence-runner.ts';
import type { ServedModel } from './served-model.ts';
import type { SlicedWork } from './sliced-work/sliced-work.ts';

export interface RunnersParts {
  /** The data plane's own queue. */
  readonly queue: Runner;
  /** Infers a part of another request. */
  readonly inferPart: InferStep;
  readonly clock: Clock;
  readonly observer: DataPlaneObserver;
  readonly cacheLimits: StoredResultsLimits;
  readonly followerLimits: FlightLimits;
  /** Most bytes of answers of steps that requests of ensembles hold. */
  readonly stepBytesMax: number;
  /** The data plane's own. */
  readonly sliced: SlicedWork;
}

export class Runners {
  readonly cache: ResultCache;
  readonly #parts: RunnersParts;
  readonly #flights: Flights<WaitingRequest>;
  readonly #holdings: AnswerHoldings;

  constructor(parts: RunnersParts) {
    this.#parts = parts;
    this.cache = new ResultCache({ limits: parts.cacheLimits, clock: parts.clock, observer: parts.observer });
    this.#flights = new Flights(parts.followerLimits);
    this.#holdings = new AnswerHoldings(parts.stepBytesMax);
  }

  /** The runner of a model, to be set before the model is served; undefined: the queue itself. */
  runnerOf(model: ServedModel, spec: RunnerSpec, cache: CacheChoice | undefined): Runner | undefined {
    switch (spec.runner) {
      case 'ensemble':
        return this.#ensembleRunnerOf(model, spec.ensemble);
      case 'queue':
        if (model.sequencing !== undefined) return this.#sequenceRunnerOf(model, model.sequencing);
        return cache && this.#cachingRunnerOf(model, cache);
    }
  }

  #cachingRunnerOf(model: ServedModel, choice: CacheChoice): Runner | undefined {
    const { queue, clock, observer, cacheLimits, sliced } = this.#parts;
    if (cacheLimits.bytesMax === 0) return undefined;
    return new CachingRunner({
      model,
      choice,
      inner: queue,
      cache: this.cache,
      flights: this.#flights,
      clock,
      observer: observer.observerFor(model.view.name, model.view.version),
      sliced,
    });
  }

  #ensembleRunnerOf(model: ServedModel, { plan, inflightMax }: EnsembleDefinition): Runner {
    const { clock, observer, inferPart } = this.#parts;
    return new EnsembleRunner({
      plan,
      inflightMax,
      waitingMax: model.policy.queueRequestsMax,
      waitingBytesMax: model.policy.queueBytesMax,
      infer: inferPart,
      holdings: this.#holdings,
      clock,
      observer: observer.observerFor(model.view.name, model.view.version),
    });
  }

  #sequenceRunnerOf(model: ServedModel, sequencing: Sequencing): Runner {
    const { clock, observer, queue, sliced } = this.#parts;
    const { name, version } = model.view;
    const parts = { queue, clock, sliced, observer: observer.observerFor(name, version) };
    return new SequenceRunner(model, sequencing, parts);
  }
}
