import { RpcError } from './rpc-error.ts';

/**
 * Memory for messages that have begun to arrive. Each caller may hold one unfinished message per call, so without a
 * common bound many slow callers could fill the memory together.
 */
export class ArrivalBudget {
  readonly #bytesMax: number;
  usedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** False when there is not as much left. */
  take(bytes: number): boolean {
    if (this.usedBytes + bytes > this.#bytesMax) return false;
    this.usedBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.usedBytes -= bytes;
  }

  refusal(): RpcError {
    return new RpcError(
      'resource_exhausted',
      `the messages that are arriving would take more than ${this.#bytesMax} bytes together; try again later`,
    );
  }
}
