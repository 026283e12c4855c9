/** What the data plane asks about models. The catalogue implements it. */
import type { ModelView } from '../model/model-view.ts';
import type { ServedModel } from './served-model.ts';

export interface KnownModels {
  /** The version that takes a request now. Undefined: none, or only after a load; `mustKnow` says which. Empty version: the preferred one. */
  takeServed(name: string, version: string): ServedModel | undefined;
  /** The version that takes the request, if necessary after a load. Throws an `InferenceError`. */
  mustKnow(name: string, version: string): ServedModel;
  /** The view of the version that takes the request; undefined: `mustKnow` says why none does. */
  takeView(name: string, version: string): ModelView | undefined;
  /** The model of a listed version; undefined for a version that could never be served. */
  takeModel(name: string, version: string): ServedModel | undefined;
  /** Versions of the model that take requests, ascending. */
  readyVersions(name: string): readonly string[];
  /** Calls back after every change of a state; returns a function that stops it. */
  onChange(listener: () => void): () => void;
}
