/** The calls of running batches that have no answer yet. */
import {
  alignedToElement,
  type CallAnsweredMessage,
  type CallCancelledMessage,
  type CallFailedMessage,
  type CallMessage,
  copyOf,
  InferenceError,
  type Region,
  type Tensor,
} from '@millrace/protocol';
import type { ModelCall } from '../engine.ts';

interface OpenCall {
  readonly batch: number;
  readonly resolve: (outputs: readonly Tensor[]) => void;
  readonly reject: (error: InferenceError) => void;
  stopListening: () => void;
}

export interface OpenCallsOptions {
  readonly lend: (bytes: number) => Region;
  readonly send: (message: CallMessage | CallCancelledMessage) => void;
}

export class OpenCalls {
  readonly #options: OpenCallsOptions;
  readonly #open = new Map<number, OpenCall>();
  #callCount = 0;

  constructor(options: OpenCallsOptions) {
    this.#options = options;
  }

  begin(batch: number, request: ModelCall): Promise<readonly Tensor[]> {
    const promise = new Promise<readonly Tensor[]>((resolve, reject) => {
      this.#callCount += 1;
      const call = this.#callCount;
      const open: OpenCall = { batch, resolve, reject, stopListening: () => {} };
      this.#open.set(call, open);
      const { inputs, region } = layOut(request.inputs, this.#options.lend);
      const { model, version, outputs, timeoutMs } = request;
      this.#options.send({ kind: 'call', call, batch, model, version, inputs, outputs, timeoutMs, region });
      open.stopListening = request.signal.onCancel((reason) => {
        if (!this.#end(call)) return;
        this.#options.send({ kind: 'call-cancelled', call, batch });
        reject(new InferenceError(reason, `the call of model '${model}' was cancelled`));
      });
    });
    // A call whose promise nobody awaits may fail without an unhandled rejection.
    promise.catch(() => {});
    return promise;
  }

  /** An answer may also come for a call that was cancelled meanwhile. */
  answered({ call, outputs }: CallAnsweredMessage): void {
    const open = this.#end(call);
    // Copied: the memory is reused when the batch has ended, and the caller may keep the tensors.
    open?.resolve(outputs.map((tensor) => ({ ...tensor, data: copyOf(tensor.data) })));
  }

  failed({ call, code, message, retryAfterMs }: CallFailedMessage): void {
    const options = retryAfterMs === undefined ? undefined : { retryAfterMs };
    this.#end(call)?.reject(new InferenceError(code, message, options));
  }

  /** The batch has ended, or nobody waits for it: the router cancels the calls that are still open. */
  batchEnded(batch: number): void {
    for (const [call, open] of this.#open) {
      if (open.batch !== batch) continue;
      this.#end(call);
      open.reject(new InferenceError('cancelled', 'the request that made this call has ended'));
    }
  }

  #end(call: number): OpenCall | undefined {
    const open = this.#open.get(call);
    this.#open.delete(call);
    open?.stopListening();
    return open;
  }
}

/** Copies tensors into memory that the router reads. */
function layOut(tensors: readonly Tensor[], lend: (bytes: number) => Region): { inputs: Tensor[]; region: Region } {
  let bytes = 0;
  const offsets = tensors.map(({ data }) => {
    const offset = bytes;
    bytes += alignedToElement(data.byteLength);
    return offset;
  });
  const region = lend(bytes);
  const inputs = tensors.map((tensor, index) => {
    const offset = offsets[index] as number;
    const data = region.bytes.subarray(offset, offset + tensor.data.byteLength);
    data.set(tensor.data);
    return { ...tensor, data };
  });
  return { inputs, region };
}
