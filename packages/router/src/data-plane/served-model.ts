/** A model version as the data plane serves it: its view, and everything that can be computed before requests come. */
import type { ModelKey, ModelPolicy } from '@millrace/core';
import { type GeneratorProbe, type LoadSpec, type TensorSpec, takeByteSize } from '@millrace/protocol';
import type { BatchShaping } from '../model/batch-shaping.ts';
import type { ModelView } from '../model/model-view.ts';
import type { Sequencing } from '../model/sequencing.ts';
import type { Runner } from './infer.ts';
import type { ModelObserver } from './observer.ts';
import { RunTimes } from './run-times.ts';
import { StreamHolds } from './streams/stream-holds.ts';

/** The files of a version, as they were when it was read. */
export interface VersionFiles extends Pick<LoadSpec, 'path' | 'folder'> {
  /** Whether they are still the same. */
  isUnchanged(): Promise<boolean>;
}

export class ServedModel {
  readonly key: ModelKey;
  /** Replaced when its configuration changed in a way that needs no new load. */
  view: ModelView;
  readonly policy: ModelPolicy;
  /** The number that names the model in dispatches to workers; never reused. */
  readonly handle: number;
  readonly inputIndex: ReadonlyMap<string, number>;
  readonly outputIndex: ReadonlyMap<string, number>;
  readonly requiredInputs: number;
  /** Every request has the same inputs and row shapes, so any two may share a batch. */
  readonly isUniform: boolean;
  /** Its engine takes text where others take bytes: elements of BYTES inputs must be UTF-8. */
  readonly takesTextOnly: boolean;
  readonly allOutputs: readonly number[];
  /** Bytes of one row of each input, or of all of it when not batched; undefined where shapes or elements vary. */
  readonly inputRowBytes: readonly (number | undefined)[];
  /** How requests of unequal shapes share a batch; undefined: they never do. */
  readonly shaping: BatchShaping | undefined;
  /** Requests of different callers may share a run. False from the first shared run whose answer could not be divided. */
  sharesRuns: boolean;
  /** For a model that keeps state from one request to the next. */
  readonly sequencing: Sequencing | undefined;
  /** Runs its requests; undefined: the data plane's own queue. Set once, before the model is served. */
  runner: Runner | undefined = undefined;
  /** Where its files are; undefined: it has none, like an ensemble. Set before the model is served. */
  source: VersionFiles | undefined = undefined;
  /** Streams that are pinned to it. */
  readonly streams: StreamHolds;
  /** Whether a stream that is rebuilt after a failure goes on bit for bit, as its probe found; undefined: it was not probed. */
  areStreamsExact: boolean | undefined = undefined;
  /** Of a generator, what its workers found out; undefined before the first load. */
  probe: GeneratorProbe | undefined = undefined;
  /** Set by the first request; undefined: it had none yet. */
  observer: ModelObserver | undefined = undefined;
  readonly #revision: number;
  /** How long its runs took: one record, also for the model that `toEngineModel` makes. */
  readonly runTimes: RunTimes;
  /** When a request last came; undefined: none yet. */
  usedAt: number | undefined = undefined;

  /** `revision` counts the revisions of its version since the server started: changed files or settings make a new one. */
  constructor(
    view: ModelView,
    policy: ModelPolicy,
    handle: number,
    revision = 1,
    sequencing?: Sequencing,
    runTimes: RunTimes = new RunTimes(),
  ) {
    const key = modelKeyFrom(view.name, view.version);
    this.key = revision === 1 ? key : `${key}#${revision}`;
    this.#revision = revision;
    this.view = view;
    this.policy = policy;
    this.handle = handle;
    this.sequencing = sequencing;
    this.runTimes = runTimes;
    this.streams = new StreamHolds();
    this.shaping = view.shaping;
    this.inputIndex = new Map(view.inputs.map((input, index) => [input.name, index]));
    this.outputIndex = new Map(view.outputs.map((output, index) => [output.name, index]));
    this.sharesRuns = view.sharing?.sharesRuns ?? true;
    this.requiredInputs = view.inputs.filter((input) => input.isOptional !== true).length;
    this.isUniform =
      this.requiredInputs === view.inputs.length && view.inputs.every((input) => !hasFreeRowDimension(input, view));
    this.takesTextOnly = view.takesTextOnly === true;
    this.allOutputs = view.outputs.map((_, index) => index);
    this.inputRowBytes = view.inputs.map((input) => takeByteSize(input.datatype, rowShapeOf(input, view)));
  }

  /** The model as workers load it: with the tensors that only the server writes and reads. */
  get engineView(): ModelView {
    if (this.sequencing !== undefined) return this.sequencing.engineView;
    return this.view.shaping === undefined ? this.view : { ...this.view, ...this.view.shaping.engine };
  }

  /** The configuration has no `max_batch_size`: requests may have any number of rows. */
  get answersAnyRows(): boolean {
    return this.view.sharing?.isGuessed === true && this.view.isBatched && this.shaping?.engine.isBatched !== false;
  }

  /** The same model with the engine's tensors, for requests to the same queue and workers. */
  toEngineModel(): ServedModel {
    return new ServedModel(this.engineView, this.policy, this.handle, this.#revision, undefined, this.runTimes);
  }
}

export function modelKeyFrom(name: string, version: string): ModelKey {
  return `${name}:${version}`;
}

function hasFreeRowDimension(input: TensorSpec, view: ModelView): boolean {
  return rowShapeOf(input, view).some((dimension) => dimension < 0);
}

function rowShapeOf(input: TensorSpec, view: ModelView): readonly number[] {
  return view.isBatched ? input.shape.slice(1) : input.shape;
}
