/**
 * The dispatch protocol: everything that crosses between a router and a worker, one union each way. How the messages
 * travel is a lane's business (a call, a Unix socket, ZeroMQ); what they mean is said here and held by the lane contract.
 */
import type { ErrorCode } from '../errors.ts';
import type { TensorSpec } from '../tensor.ts';
import type { GpuSpec } from './gpu.ts';
import type { WarmupSample } from './warm-up.ts';

/** How a model is loaded. Small and rare, so it travels as JSON inside its envelope. */
export interface LoadSpec {
  /** Chosen by the router, unique on this link; dispatches name the model by it. */
  readonly model: number;
  readonly name: string;
  readonly version: string;
  readonly engine: 'onnxruntime';
  readonly path: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Rows lie along dimension 0 of every tensor. Otherwise a batch is exactly one request. */
  readonly isBatched: boolean;
  readonly threads: number;
  /** Busy-waiting of the engine's threads: quick when alone on the machine, ruinous when not. */
  readonly isSpinning: boolean;
  /** What it runs on; absent: the CPU. */
  readonly gpu?: GpuSpec;
  /** Run one after the other before the model is said to be ready; one that fails fails the load. */
  readonly warmup?: readonly WarmupSample[];
}

/**
 * Bytes that lie where the worker reads or the router reads, and go back to their owner on release. Holding a view
 * after release is a defect: shared memory is used again at once.
 */
export interface Region {
  readonly bytes: Uint8Array;
  release(): void;
}

/** One input or output of a batch: rows side by side, `data` a view of the message's region. */
export interface BatchTensor {
  /** Position among the model's inputs or outputs, as `LoadSpec` lists them. */
  readonly index: number;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

export interface LoadMessage {
  readonly kind: 'load';
  readonly spec: LoadSpec;
}

export interface UnloadMessage {
  readonly kind: 'unload';
  readonly model: number;
}

export interface DispatchMessage {
  readonly kind: 'dispatch';
  /** Chosen by the router, unique on this link, rising. */
  readonly batch: number;
  readonly model: number;
  readonly inputs: readonly BatchTensor[];
  /** Positions of the outputs somebody asked for; the others need not be computed or carried. */
  readonly outputs: readonly number[];
  /** From `WorkerLink.lend`; the link releases it once the worker has answered, failed or gone. */
  readonly region: Region;
}

/** Nobody waits for the batch any more: skip it if it has not begun. It is answered by `failed` with `cancelled`. */
export interface CancelMessage {
  readonly kind: 'cancel';
  readonly batch: number;
}

export type ToWorker = LoadMessage | UnloadMessage | DispatchMessage | CancelMessage;

/** The model is loaded and warmed. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly model: number;
  readonly loadMs: number;
  /** Resident memory of the worker process after the load. */
  readonly residentBytes: number;
}

/** The model could not be loaded; the worker is alive and may be given another. */
export interface LoadFailedMessage {
  readonly kind: 'load-failed';
  readonly model: number;
  readonly message: string;
}

/** How many batches the worker will hold at once, the running one included. Sent first, and whenever it changes. */
export interface CreditMessage {
  readonly kind: 'credit';
  readonly batchesMax: number;
}

export interface AnsweredMessage {
  readonly kind: 'answered';
  readonly batch: number;
  readonly outputs: readonly BatchTensor[];
  /** Whoever receives the message releases it, once, when the last row has been used. */
  readonly region: Region;
  readonly runMicros: number;
}

export interface FailedMessage {
  readonly kind: 'failed';
  readonly batch: number;
  readonly code: Extract<ErrorCode, 'inference-failed' | 'cancelled' | 'unknown-model' | 'unsupported'>;
  readonly message: string;
}

/** The worker is no more: said by the link, last, exactly once, whatever the cause. */
export interface GoneMessage {
  readonly kind: 'gone';
  readonly reason: string;
}

export type FromWorker =
  | ReadyMessage
  | LoadFailedMessage
  | CreditMessage
  | AnsweredMessage
  | FailedMessage
  | GoneMessage;
