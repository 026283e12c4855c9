/**
 * Copies of requests for versions that are to be looked at under real traffic. A copy is sent when its original has been
 * answered, at the lowest priority, and nobody waits for it; what becomes of it is told to metrics alone.
 */
import { Cancellation, type Tensor } from '@millrace/protocol';
import type { DataPlane, InferAnswer, InferRequest } from '../infer.ts';
import { areOutputsAlike } from './compare-outputs.ts';
import type { ShadowOutcome } from './shadow-outcome.ts';

export interface ShadowLimits {
  /** Copies on their way at once, those whose original is not answered yet included. */
  readonly requestsMax: number;
  /** Bytes of the inputs and outputs that are kept for them. */
  readonly bytesMax: number;
  /** Outputs larger than this are not kept for comparison. */
  readonly comparedBytesMax: number;
  readonly timeoutMs: number;
}

export const defaultShadowLimits = { comparedBytesMax: 1024 * 1024, timeoutMs: 60_000 };

export interface ShadowTrafficParts {
  readonly dataPlane: DataPlane;
  readonly limits: ShadowLimits;
  /** The number of the least urgent priority level of a version. */
  readonly lowestPriority: (model: string, version: string) => number;
  readonly onOutcome: (model: string, version: string, outcome: ShadowOutcome) => void;
}

/** Copies of one request count as one caller's, apart from all real ones. */
export const shadowCaller = 'millrace-shadow';

export class ShadowTraffic {
  readonly #parts: ShadowTrafficParts;
  readonly #ending = new Cancellation();
  #requests = 0;
  #bytes = 0;

  constructor(parts: ShadowTrafficParts) {
    this.#parts = parts;
  }

  /** Copies on their way. */
  get requests(): number {
    return this.#requests;
  }

  /** Runs the original and, once it is answered, its copies. The answer is the original's, whatever becomes of the copies. */
  follow(request: InferRequest, versions: readonly string[], run: () => Promise<InferAnswer>): Promise<InferAnswer> {
    const bytes = bytesOf(request.inputs);
    const taken = versions.filter((version) => this.#take(request.model, version, bytes));
    if (taken.length === 0) return run();
    // The inputs are views of what the request came in, which is used again when the original has been answered.
    const copy = { ...request, inputs: copiesOf(request.inputs) };
    const answered = run();
    // Before anyone else hears of the answer, whose outputs are its reader's to give back.
    answered.then(
      (answer) => {
        const expected = this.#keep(answer.outputs);
        for (const version of taken) void this.#send(copy, version, expected, bytes);
      },
      // What was refused is not traffic.
      () => {
        for (const _ of taken) this.#release(bytes);
      },
    );
    return answered;
  }

  /** Gives up the copies on their way: they must not hold up the end of the server. */
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

  #release(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
  }

  #keep(outputs: readonly Tensor[]): readonly Tensor[] | undefined {
    return bytesOf(outputs) > this.#parts.limits.comparedBytesMax ? undefined : copiesOf(outputs);
  }

  async #send(
    copy: InferRequest,
    version: string,
    expected: readonly Tensor[] | undefined,
    bytes: number,
  ): Promise<void> {
    const { dataPlane, limits, lowestPriority, onOutcome } = this.#parts;
    let outcome: ShadowOutcome = 'failed';
    try {
      const answer = await dataPlane.infer(
        {
          ...copy,
          version,
          id: '',
          timeoutMs: limits.timeoutMs,
          queueTimeoutMs: undefined,
          priority: lowestPriority(copy.model, version),
          caller: shadowCaller,
        },
        this.#ending,
      );
      outcome =
        expected === undefined ? 'unchecked' : areOutputsAlike(expected, answer.outputs) ? 'equal' : 'different';
      answer.release();
    } catch {
      // Told by its outcome, and by the failures of the version it was sent to.
    } finally {
      this.#release(bytes);
      onOutcome(copy.model, version, outcome);
    }
  }
}

function bytesOf(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, { data }) => sum + data.byteLength, 0);
}

function copiesOf(tensors: readonly Tensor[]): readonly Tensor[] {
  return tensors.map((tensor) => ({ ...tensor, data: Uint8Array.from(tensor.data) }));
}
