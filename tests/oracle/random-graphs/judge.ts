/** Collects what the server said to the requests of one graph, and finds what is wrong with it. */
import { errorCatalogue, InferenceError, type Tensor } from '@millrace/protocol';
import type { Case, CaseRequest } from './case.ts';
import { differenceOf, isProbablyUnwritten } from './compare.ts';
import type { Failure, FailureKind } from './result.ts';

export class Judge {
  readonly #graph: Case;
  readonly #failures = new Map<FailureKind, Failure>();
  answers = 0;

  constructor(graph: Case) {
    this.#graph = graph;
  }

  get failures(): readonly Failure[] {
    return [...this.#failures.values()];
  }

  answered(request: CaseRequest, outputs: readonly Tensor[]): void {
    this.answers++;
    if (request.outputs === undefined) {
      this.fail('answered', 'a request that ONNX Runtime refuses was answered');
      return;
    }
    const difference = differenceOf(this.#graph, request.outputs, outputs);
    if (difference === undefined) return;
    this.fail('wrong', difference);
    if (isProbablyUnwritten(request, outputs, this.#graph.requests)) this.fail('unwritten', difference);
  }

  refused(request: CaseRequest, error: unknown): void {
    if (error instanceof InferenceError) this.refusedWith(request, errorCatalogue[error.code].http, error.message);
    else this.fail('five-hundred', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  refusedWith(request: CaseRequest, status: number, message: string): void {
    // Where ONNX Runtime refuses too, a refusal is right, whatever its status is.
    if (request.outputs === undefined) return;
    this.fail(status >= 500 ? 'five-hundred' : 'refused', `${status}: ${message}`);
  }

  fail(kind: FailureKind, message: string): void {
    if (!this.#failures.has(kind)) this.#failures.set(kind, { kind, message });
  }
}
