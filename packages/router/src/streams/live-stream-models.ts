/** Models of streams, from what the data plane knows. */
import type { LoadSpec, Tensor } from '@millrace/protocol';
import { InferenceError } from '@millrace/protocol';
import { type InferRequest, noTrail } from '../data-plane/infer.ts';
import type { Inference } from '../data-plane/inference.ts';
import type { KnownModels } from '../data-plane/known-models.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import { ValidInferRequest } from '../data-plane/valid-request.ts';
import type { ModelView } from '../model/model-view.ts';
import { exactnessFrom, isExact } from './exactness.ts';
import type { ModelExactness } from './model-exactness.ts';
import { ModelWaits } from './model-waits.ts';
import { StreamModel } from './stream-model.ts';
import { replacedFiles, type StreamModels, type StreamPin } from './stream-models.ts';

export interface LiveStreamModelsParts {
  readonly inference: Pick<Inference, 'resolved'>;
  readonly models: Pick<KnownModels, 'mustKnow' | 'takeModel' | 'takeServed' | 'onChange'>;
  /** Of the files of a model. */
  readonly digestOf: (source: Pick<LoadSpec, 'path' | 'folder'>) => Promise<string>;
  readonly exactness: Pick<ModelExactness, 'of'>;
}

export class LiveStreamModels implements StreamModels {
  readonly #parts: LiveStreamModelsParts;
  /** One for all streams of a version. */
  readonly #streamModels = new WeakMap<ModelView, StreamModel>();
  readonly #waits: ModelWaits;
  /** Of the files that a revision was loaded from: other files make another revision. */
  readonly #digests = new WeakMap<ServedModel, string>();
  /** Digests under way: all streams of a revision that is replaced ask for the next one at the same time. */
  readonly #readings = new WeakMap<ServedModel, Promise<string>>();

  constructor(parts: LiveStreamModelsParts) {
    this.#parts = parts;
    this.#waits = new ModelWaits(parts.models);
  }

  async pin(context: string, onRetired: () => void): Promise<StreamPin> {
    if (context === '') {
      throw new InferenceError(
        'invalid-request',
        'the open frame names no context; write a model, model:version or model@label',
      );
    }
    const { inference, models, exactness } = this.#parts;
    const { target } = inference.resolved({
      target: { model: context, version: '', id: '', parameters: new Map(), outputs: [], sequence: undefined },
      inputs: [],
      origin: {
        caller: '',
        deadlineAt: Number.POSITIVE_INFINITY,
        queueTimeoutMs: Number.POSITIVE_INFINITY,
        priority: 0,
        trail: noTrail,
      },
    });
    const served = models.mustKnow(target.model, target.version);
    const pin = await this.#pinned(served, onRetired);
    const found =
      served.probe === undefined
        ? await exactness.of({ ...pin, sharesRuns: served.sharesRuns })
        : exactnessFrom(served.probe);
    served.areStreamsExact = found && isExact(found.verdict);
    return new HeldVersion(pin.model, served, pin.digest, found, pin.release);
  }

  async pinAgain(model: string, version: string, onRetired: () => void): Promise<StreamPin | undefined> {
    const { models } = this.#parts;
    const known = models.takeModel(model, version) ?? this.#unlessUnknown(() => models.mustKnow(model, version));
    return known && (await this.#pinned(known, onRetired));
  }

  onServed(model: string, version: string, callback: () => void): () => void {
    return this.#waits.add(model, version, callback);
  }

  /** Files that cannot be read now may be readable later: the stream waits for that, and ends only if its version is gone. */
  #unlessUnknown(known: () => ServedModel): ServedModel | undefined {
    try {
      return known();
    } catch (error) {
      if (error instanceof InferenceError && error.code === 'unknown-model') return undefined;
      throw error;
    }
  }

  async #pinned(served: ServedModel, onRetired: () => void): Promise<HeldVersion> {
    if (served.sequencing !== undefined) {
      throw new InferenceError(
        'unsupported',
        `${served.view.name} keeps state by sequences; send it requests with a sequence id, or declare millrace.stream_states instead of sequence_batching`,
      );
    }
    // Held first: the files are read while the version may be replaced.
    const release = served.streams.hold(onRetired);
    try {
      const digest = this.#digests.get(served) ?? (await this.#sharedDigestOf(served));
      const model = this.#streamModelOf(served.view);
      return new HeldVersion(model, served, digest, undefined, release);
    } catch (error) {
      release();
      throw new InferenceError(
        'model-not-ready',
        `the files of ${served.key} cannot be read: ${(error as Error).message}`,
      );
    }
  }

  #sharedDigestOf(served: ServedModel): Promise<string> {
    const known = this.#readings.get(served);
    if (known !== undefined) return known;
    const reading = this.#digestOf(served).finally(() => this.#readings.delete(served));
    this.#readings.set(served, reading);
    return reading;
  }

  async #digestOf(served: ServedModel): Promise<string> {
    const { source } = served;
    if (source === undefined) return '';
    const found = await this.#parts.digestOf(source);
    // Asked afterwards: the files may also have changed while they were read.
    const digest = (await source.isUnchanged()) ? found : replacedFiles;
    this.#digests.set(served, digest);
    return digest;
  }

  #streamModelOf(view: ModelView): StreamModel {
    const known = this.#streamModels.get(view);
    if (known !== undefined) return known;
    const made = new StreamModel(view);
    this.#streamModels.set(view, made);
    return made;
  }
}

/** A class, so that all pins have one shape: every input of every stream goes through code that reads them. */
class HeldVersion implements StreamPin {
  readonly model: StreamModel;
  readonly revision: ServedModel;
  readonly digest: string;
  readonly exactness: StreamPin['exactness'];
  /** A member of its own, so that a copy has it. */
  readonly check: StreamPin['check'];
  readonly release: () => void;

  constructor(
    model: StreamModel,
    revision: ServedModel,
    digest: string,
    exactness: StreamPin['exactness'],
    release: () => void,
  ) {
    this.model = model;
    this.revision = revision;
    this.digest = digest;
    this.exactness = exactness;
    this.check = (inputs, sequence) => checkInputs(revision, inputs, sequence);
    this.release = release;
  }
}

const checkedOrigin = {
  caller: '',
  deadlineAt: Number.POSITIVE_INFINITY,
  queueTimeoutMs: Number.POSITIVE_INFINITY,
  priority: 0,
  trail: noTrail,
};
const noParameters: InferRequest['target']['parameters'] = new Map();
const noOutputs: readonly string[] = [];

/** Long texts are checked in slices when the step runs. */
function checkInputs(served: ServedModel, inputs: readonly Tensor[], sequence: number): void {
  try {
    checkInputsAs('', served, inputs);
  } catch {
    // Most are right: only those that are not get a name.
    checkInputsAs(`input ${sequence}`, served, inputs);
  }
}

function checkInputsAs(id: string, served: ServedModel, inputs: readonly Tensor[]): void {
  const { name: model, version } = served.view;
  const target = { model, version, id, parameters: noParameters, outputs: noOutputs, sequence: undefined };
  ValidInferRequest.from({ target, inputs, origin: checkedOrigin }, served, true);
}
