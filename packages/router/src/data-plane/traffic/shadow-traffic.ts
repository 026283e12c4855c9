/**
 * Sends copies of requests to shadows: versions that are to be tested under real traffic. A copy is sent when its original has
 * been answered, at the lowest priority, and nobody waits for it; its outcome is only counted in metrics.
 */
import { Cancellation, type CancelSignal, type Tensor } from '@millrace/protocol';
import { type InferAnswer, type InferRequest, noTrail } from '../infer.ts';
import { bytesOfTensors, copiesOf, finish } from '../sliced-work/copy-slices.ts';
import { copySliceBytesMax, type SlicedWork } from '../sliced-work/sliced-work.ts';
import { areOutputsAlike } from './compare-outputs.ts';
import type { ShadowOutcome } from './shadow-outcome.ts';

export interface ShadowLimits {
  /** Copies in flight at once, including those whose original is not answered yet. */
  readonly requestsMax: number;
  /** Bytes of the inputs and outputs kept for these copies. */
  readonly bytesMax: number;
  /** Outputs larger than this are not kept for comparison. */
  readonly comparedBytesMax: number;
  readonly timeoutMs: number;
}

export const defaultShadowLimits = { comparedBytesMax: 1024 * 1024, timeoutMs: 60_000 };

export interface ShadowTrafficParts {
  /** Infers a copy, whose version is resolved. */
  readonly infer: (request: InferRequest, signal: CancelSignal) => Promise<InferAnswer>;
  readonly deadlineAfter: (timeoutMs: number) => number;
  /** Copies large inputs. */
  readonly sliced: SlicedWork;
  readonly limits: ShadowLimits;
  /** The number of the least urgent priority level of a version. */
  readonly lowestPriority: (model: string, version: string) => number;
  readonly onOutcome: (model: string, version: string, outcome: ShadowOutcome) => void;
}

/** The caller of all copies, distinct from all real callers. */
export const shadowCaller = 'millrace-shadow';

export class ShadowTraffic {
  readonly #parts: ShadowTrafficParts;
  readonly #ending = new Cancellation();
  #requests = 0;
  #bytes = 0;

  constructor(parts: ShadowTrafficParts) {
    this.#parts = parts;
  }

  /** Copies in flight. */
  get requests(): number {
    return this.#requests;
  }

  /** Runs the original and, once it is answered, its copies. Returns the original's answer, whatever the outcome of the copies. */
  follow(request: InferRequest, versions: readonly string[], run: () => Promise<InferAnswer>): Promise<InferAnswer> {
    const bytes = bytesOfTensors(request.inputs);
    const { model } = request.target;
    const taken = versions.filter((version) => this.#take(model, version, bytes));
    if (taken.length === 0) return run();
    // The inputs are views of the request's memory, which is reused when the original has been answered.
    const { tensors, slices } = copiesOf(request.inputs);
    const copy = { ...request, inputs: tensors };
    let isCopied = bytes <= copySliceBytesMax;
    let stopCopying = (): void => {};
    if (isCopied) finish(slices);
    else {
      stopCopying = this.#parts.sliced.run(slices, () => {
        isCopied = true;
      });
    }
    const answered = run();
    // Registered first, before the reader of the answer can release its outputs.
    answered.then(
      (answer) => {
        if (!isCopied) {
          // The answer does not wait for the copy, and the memory of the inputs may be reused now.
          stopCopying();
          for (const version of taken) this.#drop(model, version, bytes);
          return;
        }
        const expected = this.#keep(answer.outputs);
        for (const version of taken) void this.#send(copy, version, expected, bytes);
      },
      // Requests that failed are not copied.
      () => {
        stopCopying();
        for (const _ of taken) this.#release(bytes);
      },
    );
    return answered;
  }

  /** Cancels the copies in flight: they must not delay shutdown. */
  close(): void {
    this.#ending.cancel('cancelled');
  }

  #take(model: string, version: string, bytes: number): boolean {
    const { limits, onOutcome } = this.#parts;
    if (this.#requests >= limits.requestsMax || this.#bytes + bytes > limits.bytesMax) {
      onOutcome(model, version, 'dropped');
      return false;
    }
    this.#requests += 1;
    this.#bytes += bytes;
    return true;
  }

  #drop(model: string, version: string, bytes: number): void {
    this.#release(bytes);
    this.#parts.onOutcome(model, version, 'dropped');
  }

  #release(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
  }

  #keep(outputs: readonly Tensor[]): readonly Tensor[] | undefined {
    if (bytesOfTensors(outputs) > this.#parts.limits.comparedBytesMax) return undefined;
    const { tensors, slices } = copiesOf(outputs);
    finish(slices);
    return tensors;
  }

  async #send(
    copy: InferRequest,
    version: string,
    expected: readonly Tensor[] | undefined,
    bytes: number,
  ): Promise<void> {
    const { infer, deadlineAfter, limits, lowestPriority, onOutcome } = this.#parts;
    const { model } = copy.target;
    let outcome: ShadowOutcome = 'failed';
    try {
      const answer = await infer(
        {
          target: { ...copy.target, version, id: '' },
          inputs: copy.inputs,
          origin: {
            caller: shadowCaller,
            deadlineAt: deadlineAfter(limits.timeoutMs),
            queueTimeoutMs: Number.POSITIVE_INFINITY,
            priority: lowestPriority(model, version),
            trail: noTrail,
          },
        },
        this.#ending,
      );
      outcome =
        expected === undefined ? 'unchecked' : areOutputsAlike(expected, answer.outputs) ? 'equal' : 'different';
      answer.release();
    } catch {
      // Counted by its outcome, and in the failures of the version it was sent to.
    } finally {
      this.#release(bytes);
      onOutcome(model, version, outcome);
    }
  }
}
