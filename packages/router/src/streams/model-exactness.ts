/** Probes each model version once, before its first stream opens, and remembers what was found. */
import { Cancellation, InferenceError, type Tensor } from '@millrace/protocol';
import { AnswerFlow } from '../data-plane/answer-flow.ts';
import type { Clock } from '../data-plane/clock.ts';
import { noTrail, type PinnedModel } from '../data-plane/infer.ts';
import type { Inference } from '../data-plane/inference.ts';
import type { Exactness } from './exactness.ts';
import { probeExactness } from './exactness-probe.ts';
import { isPassing } from './model-steps.ts';
import type { PayloadCodec } from './payload-codec.ts';
import type { StreamModel } from './stream-model.ts';

export interface ModelExactnessParts {
  readonly inference: Pick<Inference, 'inferMany'>;
  readonly codec: PayloadCodec;
  readonly clock: Pick<Clock, 'after'>;
  /** A probe ends without a verdict after this time. */
  readonly probeMsMax: number;
  /** For the log. */
  readonly onProbed: (model: { readonly name: string; readonly version: string }, found: Exactness) => void;
}

/** A version to probe: of a revision with these files. */
export interface ProbedModel {
  readonly model: StreamModel;
  readonly revision: PinnedModel;
  readonly digest: string;
  readonly sharesRuns: boolean;
}

/** Versions that are remembered. */
const knownMax = 1024;
const pauseMs = 20;

export class ModelExactness {
  readonly #parts: ModelExactnessParts;
  /** By revision and digest, oldest first; also probes under way: streams that open meanwhile share one. */
  readonly #known = new Map<string, Promise<Exactness>>();

  constructor(parts: ModelExactnessParts) {
    this.#parts = parts;
  }

  /** Undefined: there is nothing to probe, since no state goes from step to step. Never rejects. */
  async of(probed: ProbedModel): Promise<Exactness | undefined> {
    if (probed.model.kind !== 'stateful') return undefined;
    const key = `${probed.revision.key} ${probed.digest}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const probe = this.#probe(probed);
    this.#known.set(key, probe);
    const [oldest] = this.#known.keys();
    if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
    const found = await probe;
    // What kept it from a verdict may pass: the next stream tries again.
    if (found.verdict === 'unproven') this.#known.delete(key);
    return found;
  }

  async #probe({ model, revision, sharesRuns }: ProbedModel): Promise<Exactness> {
    const { codec, clock, probeMsMax, onProbed } = this.#parts;
    const timeout = new Cancellation();
    const stopTimer = clock.after(probeMsMax, () => timeout.cancel('deadline-exceeded'));
    let found: Exactness;
    try {
      found = await probeExactness({
        model,
        sharesRuns,
        run: (inputs) => this.#run(model, revision, inputs, timeout),
        rebuilt: (state) => {
          const payload = codec.decodeOutput(codec.encodeOutput({ kind: 'tensors', tensors: state }));
          return payload.kind === 'tensors' ? payload.tensors : [];
        },
      });
    } catch (error) {
      const reason =
        timeout.reason === undefined
          ? `the probe failed: ${error instanceof Error ? error.message : String(error)}`
          : `the probe took longer than ${probeMsMax} ms (streams.probeSecondsMax)`;
      found = { verdict: 'unproven', reason };
    } finally {
      stopTimer();
    }
    onProbed(model.view, found);
    return found;
  }

  /** Waits for capacity, as the steps of streams do. */
  async #run(
    { view }: StreamModel,
    pinnedTo: PinnedModel,
    inputs: readonly Tensor[],
    timeout: Cancellation,
  ): Promise<readonly Tensor[]> {
    const { inference, clock } = this.#parts;
    const request = {
      target: {
        model: view.name,
        version: view.version,
        id: '',
        parameters: new Map(),
        outputs: [],
        sequence: undefined,
        pinnedTo,
        isAlone: true,
      },
      inputs,
      origin: {
        caller: '',
        deadlineAt: Number.POSITIVE_INFINITY,
        queueTimeoutMs: Number.POSITIVE_INFINITY,
        priority: 0,
        trail: noTrail,
      },
    };
    for (;;) {
      if (timeout.reason !== undefined) throw new InferenceError('deadline-exceeded', 'the probe took too long');
      try {
        const answer = await inference.inferMany(request, timeout, new AnswerFlow((part) => part.release()));
        const outputs = answer.outputs.map((tensor) => ({ ...tensor, data: Buffer.from(tensor.data) }));
        answer.release();
        return outputs;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await new Promise<void>((resolve) => {
          const stop = clock.after(pauseMs, resolve);
          timeout.onCancel(() => {
            stop();
            resolve();
          });
        });
      }
    }
  }
}
