import type { DataPlaneObserver, ModelObserver } from './observer.ts';
import type { ServedModel } from './served-model.ts';

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
}
