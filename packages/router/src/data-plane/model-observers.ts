import type { GenerationLoad, PartialAnswerMessage } from '@millrace/protocol';
import type { DataPlaneObserver, ModelObserver } from './observer.ts';
import type { RunningBatch } from './running-batch.ts';
import type { ServedModel } from './served-model.ts';
import { TokenMeter } from './token-meter.ts';

/** The observers of models' requests. The model caches its own: a lookup for every request would cost more than the call. */
export class ModelObservers {
  readonly #observer: DataPlaneObserver;

  constructor(observer: DataPlaneObserver) {
    this.#observer = observer;
  }

  of(model: ServedModel): ModelObserver {
    model.observer ??= this.#observer.observerFor(model.view.name, model.view.version);
    return model.observer;
  }

  /** A partial answer of a generator is a token; those of other models are not counted. */
  tokenCame(batch: RunningBatch, { generation, sequence }: PartialAnswerMessage, now: number): void {
    if (generation === undefined) return;
    this.generatorReported(batch, generation);
    const [pending] = batch.pending;
    if (pending === undefined || generation.usage === undefined) return;
    batch.tokens ??= new TokenMeter(this.of(batch.model).generator(), {
      arrivedAt: pending.arrivedAt,
      dispatchedAt: batch.dispatchedAt,
      tokensCounted: pending.valid.target.answersCounted ?? 0,
    });
    batch.tokens.token(sequence, generation.usage, now);
  }

  /** The worker of a batch says how much its generator has to do; undefined: the worker is gone. */
  generatorReported({ model, worker }: RunningBatch, load: GenerationLoad | undefined): void {
    if (model.view.isGenerator === true) this.of(model).generator().loadChanged(worker, load);
  }
}
