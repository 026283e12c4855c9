import type { DataPlaneObserver, ModelObserver } from './observer.ts';
import type { ServedModel } from './served-model.ts';

/** Who is told of a model's requests. The model keeps it: looking it up for every request would cost more than telling. */
export class ModelObservers {
  readonly #observer: DataPlaneObserver;

  constructor(observer: DataPlaneObserver) {
    this.#observer = observer;
  }

  of(model: ServedModel): ModelObserver {
    model.observer ??= this.#observer.observerFor(model.view.name, model.view.version);
    return model.observer;
  }
}
