/** What the data plane asks about models. The catalogue implements it. */
import type { ModelView } from '../model/model-view.ts';
import type { ServedModel } from './served-model.ts';

export interface KnownModels {
  /** Who takes a request now. Undefined: nobody, or not at once; `mustKnow` says which. An empty version: the preferred one. */
  takeServed(name: string, version: string): ServedModel | undefined;
  /** The version that takes the request, if necessary after it was loaded for it. Throws an `InferenceError`. */
  mustKnow(name: string, version: string): ServedModel;
  /** What the version looks like that takes the request; undefined: `mustKnow` says why none does. */
  takeView(name: string, version: string): ModelView | undefined;
  /** The model of a listed version; undefined for one that never could be served. */
  takeModel(name: string, version: string): ServedModel | undefined;
  /** Versions of the model that take requests, ascending. */
  readyVersions(name: string): readonly string[];
}
