/**
 * Calls from running batches to other models: each is an ordinary request to the model it names, on behalf of the requests
 * in the batch, whose caller, priority and deadline it inherits. It is cancelled when its batch ends.
 */
import type { BatchId } from '@millrace/core';
import {
  alignedToElement,
  type CallCancelledMessage,
  type CallMessage,
  Cancellation,
  frameBytesMaxDefault,
  InferenceError,
  quote,
  type Region,
  type Tensor,
  type WorkerLink,
} from '@millrace/protocol';
import type { Clock } from './clock.ts';
import type { InferStep } from './ensemble/ensemble-runner.ts';
import type { InferAnswer } from './infer.ts';
import { type Copy, copySlices, finish } from './sliced-work/copy-slices.ts';
import { copySliceBytesMax, type SlicedWork } from './sliced-work/sliced-work.ts';
import type { ValidInferRequest } from './valid-request.ts';

/** The most nested calls of models by models; a deeper call is refused. */
export const callDepthMax = 8;
/** The most calls of one batch over its whole run; the next one is refused. */
export const callsPerBatchMax = 1024;

/** The part of a calling batch that its calls need. */
export interface CallingBatch {
  readonly link: WorkerLink;
  readonly requests: readonly ValidInferRequest[];
  /** The latest deadline of its requests; Infinity: none. */
  readonly deadlineAt: number;
}

interface BatchCalls {
  count: number;
  readonly open: Map<number, Cancellation>;
}

export interface WorkerCallsParts {
  readonly infer: InferStep;
  readonly clock: Clock;
  readonly sliced: SlicedWork;
}

export class WorkerCalls {
  readonly #infer: InferStep;
  readonly #clock: Clock;
  readonly #sliced: SlicedWork;
  readonly #batches = new Map<BatchId, BatchCalls>();

  constructor({ infer, clock, sliced }: WorkerCallsParts) {
    this.#infer = infer;
    this.#clock = clock;
    this.#sliced = sliced;
  }

  begin(message: CallMessage, { link, requests, deadlineAt }: CallingBatch): void {
    const { call, batch } = message;
    const calls = this.#batches.get(batch) ?? { count: 0, open: new Map<number, Cancellation>() };
    this.#batches.set(batch, calls);
    calls.count += 1;
    const trail = trailOf(requests);
    const refusal = refusalOf(message.model, trail, calls.count);
    if (refusal !== undefined) {
      message.region.release();
      link.send({ kind: 'call-failed', call, code: refusal.code, message: refusal.message });
      return;
    }
    const cancellation = new Cancellation();
    calls.open.set(call, cancellation);
    const [first] = requests as readonly [ValidInferRequest];
    this.#infer(
      {
        target: {
          model: message.model,
          version: message.version,
          id: first.id,
          parameters: new Map(),
          outputs: message.outputs,
          sequence: undefined,
        },
        inputs: message.inputs,
        origin: {
          caller: requests.every(({ caller }) => caller === first.caller) ? first.caller : '',
          deadlineAt: Math.min(deadlineAt, this.#clock.now() + message.timeoutMs),
          queueTimeoutMs: Number.POSITIVE_INFINITY,
          priority: priorityOf(requests),
          trail,
        },
      },
      cancellation,
    ).then(
      (answer) => {
        message.region.release();
        if (calls.open.has(call)) this.#answer(answer, call, batch, calls, link);
        else answer.release();
      },
      (error: unknown) => {
        message.region.release();
        if (calls.open.delete(call))
          link.send({ kind: 'call-failed', call, ...failureFrom(error, trail, message.model) });
      },
    );
  }

  #answer(answer: InferAnswer, call: number, batch: BatchId, calls: BatchCalls, link: WorkerLink): void {
    let bytes = 0;
    for (const { data } of answer.outputs) bytes += alignedToElement(data.byteLength);
    // An ensemble may answer with more than a message may have: no memory is taken for it.
    if (bytes > frameBytesMaxDefault) {
      answer.release();
      calls.open.delete(call);
      const limit = `the longest message to a worker, ${frameBytesMaxDefault} bytes; call the model with fewer rows`;
      const message = `an answer of ${bytes} bytes exceeds ${limit}`;
      link.send({ kind: 'call-failed', call, code: 'unsupported', message });
      return;
    }
    const region: Region = link.lend(bytes);
    const copies: Copy[] = [];
    let offset = 0;
    const outputs = answer.outputs.map((tensor): Tensor => {
      const target = region.bytes.subarray(offset, offset + tensor.data.byteLength);
      copies.push({ source: tensor.data, target });
      offset += alignedToElement(tensor.data.byteLength);
      return { ...tensor, data: target };
    });
    const send = (): void => {
      answer.release();
      calls.open.delete(call);
      // Where the batch has ended meanwhile, the link does not send it, but releases its region.
      link.send({ kind: 'call-answered', call, batch, outputs, region });
    };
    const slices = copySlices(copies);
    if (bytes > copySliceBytesMax) {
      this.#sliced.run(slices, send);
      return;
    }
    finish(slices);
    send();
  }

  cancelled({ call, batch }: CallCancelledMessage): void {
    this.#batches.get(batch)?.open.get(call)?.cancel('cancelled');
  }

  /** Cancels the calls that the batch still waits for. */
  batchEnded(batch: BatchId): void {
    if (this.#batches.size === 0) return;
    const calls = this.#batches.get(batch);
    if (calls === undefined) return;
    this.#batches.delete(batch);
    const open = [...calls.open.values()];
    calls.open.clear();
    for (const cancellation of open) cancellation.cancel('cancelled');
  }
}

/** The names of the models on whose behalf the call is made, the outermost first. */
function trailOf(requests: readonly ValidInferRequest[]): readonly string[] {
  const deepest = requests.reduce((deep, request) =>
    request.origin.trail.length > deep.origin.trail.length ? request : deep,
  );
  return [...deepest.origin.trail, deepest.model.view.name];
}

function refusalOf(model: string, trail: readonly string[], count: number): InferenceError | undefined {
  if (trail.includes(model)) {
    const way = [...trail, model].join(' calls ');
    return new InferenceError('inference-failed', `a model must not call itself, directly or through others: ${way}`);
  }
  if (trail.length > callDepthMax) {
    const way = [...trail, model].join(' calls ');
    return new InferenceError(
      'inference-failed',
      `model calls are nested deeper than ${callDepthMax} (callDepthMax): ${way}`,
    );
  }
  if (count > callsPerBatchMax) {
    const message = `one request made more than ${callsPerBatchMax} calls (callsPerBatchMax); send several rows in one call`;
    return new InferenceError('inference-failed', message);
  }
  return undefined;
}

/** The most urgent priority among the requests that set one. */
function priorityOf(requests: readonly ValidInferRequest[]): number {
  const stated = requests.map(({ origin }) => origin.priority).filter((priority) => priority > 0);
  return stated.length === 0 ? 0 : Math.min(...stated);
}

/** An unknown model is reported with who called it: the caller of the outermost one did not name it. */
function failureFrom(error: unknown, trail: readonly string[], model: string) {
  if (!(error instanceof InferenceError)) return { code: 'internal', message: 'internal error of the server' } as const;
  const { code, retryAfterMs } = error;
  const isUnknown = code === 'unknown-model';
  const message = isUnknown
    ? `${trail.map(quote).join(' calls ')} calls model ${quote(model)}, which is not served: ${error.message}`
    : error.message;
  return retryAfterMs === undefined ? { code, message } : { code, message, retryAfterMs };
}
