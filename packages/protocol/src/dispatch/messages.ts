/**
 * The dispatch protocol: everything that is sent between a router and a worker, one union per direction. How messages
 * travel is up to a lane (a call, a Unix socket, ZeroMQ); their meaning is defined here and checked by the lane
 * contract.
 */
import type { ErrorCode } from '../errors.ts';
import type { Tensor, TensorSpec } from '../tensor.ts';
import type { GenerationReport } from './generation-report.ts';
import type { GeneratorProbe } from './generator-probe.ts';
import type { GpuSpec } from './gpu.ts';
import type { ModelContent } from './model-content.ts';
import type { WarmupSample } from './warm-up.ts';

/** What loads and runs a model in a worker. */
export const engineNames = ['onnxruntime', 'pipeline', 'generator'] as const;
export type EngineName = (typeof engineNames)[number];

/** How a model is loaded. Small and rare, so it is sent as JSON in its frame. */
export interface LoadSpec {
  /** Chosen by the router, unique on this link; dispatches name the model by it. */
  readonly model: number;
  readonly name: string;
  readonly version: string;
  readonly engine: EngineName;
  /** The model's file, where the router sees it. */
  readonly path: string;
  /**
   * The version's folder, all of whose files belong to the model. Absent: the model is the file at `path` alone, with the
   * files beside it that are named after it.
   */
  readonly folder?: string;
  /** What the files contain, for a worker that shares what it has loaded, or may not see `path`. */
  readonly content?: ModelContent;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Rows are along dimension 0 of every tensor. Otherwise a batch is exactly one request. */
  readonly isBatched: boolean;
  readonly threads: number;
  /** Busy-waiting of the engine's threads: fast when alone on the machine, very slow otherwise. */
  readonly isSpinning: boolean;
  /** The device it runs on; absent: the CPU. */
  readonly gpu?: GpuSpec;
  /**
   * The rows that a run may have, ascending, the last enough for any batch; fewer rows are padded. Absent: any number.
   */
  readonly batchSizes?: readonly number[];
  /** Run one after the other before the model is reported ready; if one fails, the load fails. */
  readonly warmup?: readonly WarmupSample[];
  /**
   * If given, the model runs this many batches at once, each answered when it ends, and they may call other models.
   * Otherwise they run one after the other and are answered in that order.
   */
  readonly concurrency?: number;
  /** It gives any number of answers to a request, each a `partial-answer`, on credit; only with `concurrency`. */
  readonly isDecoupled?: true;
  /** Of a generator: how much memory the keys and values of all texts may take. */
  readonly cacheBytesMax?: number;
  /** Of a generator: what an earlier load found out, which the worker uses if the key is that of its own files. */
  readonly probe?: GeneratorProbe;
  /** Graph outputs of a ZipMap are loaded as tensors of scores: the worker loads a rewritten copy of the file. */
  readonly cutsZipMaps?: boolean;
}

/**
 * Bytes where the worker or the router can read them, which return to their owner on release. Holding a view
 * after release is a bug: shared memory is reused at once.
 */
export interface Region {
  readonly bytes: Uint8Array;
  release(): void;
}

/** One input or output of a batch: rows side by side, `data` a view of the message's region. */
export interface BatchTensor {
  /** Position among the model's inputs or outputs, as `LoadSpec` lists them. */
  readonly index: number;
  /**
   * As callers see it (`TensorSpec.shape`): where a configuration reshapes, the engine translates. For an output it is
   * the engine's actual shape, which may differ from what the model declares.
   */
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
  /** Chosen by the router, unique on this link, increasing. */
  readonly batch: number;
  readonly model: number;
  readonly inputs: readonly BatchTensor[];
  /** Positions of the requested outputs; the others need not be computed or sent. */
  readonly outputs: readonly number[];
  /** From `WorkerLink.lend`; the link releases it once the worker has answered, failed or gone. */
  readonly region: Region;
}

/**
 * Nobody waits for the batch any more: skip it if it has not begun, and end it if possible. It is answered like any
 * other, by `failed` with `cancelled` when it has no result.
 */
export interface CancelMessage {
  readonly kind: 'cancel';
  readonly batch: number;
}

/** The router accepts this many more partial answers of the batch; a worker sends none without credit. */
export interface GrantMessage {
  readonly kind: 'grant';
  readonly batch: number;
  readonly answers: number;
}

/** The answer of another model to a `call`. */
export interface CallAnsweredMessage {
  readonly kind: 'call-answered';
  readonly call: number;
  /** The batch on whose behalf it was called. */
  readonly batch: number;
  readonly outputs: readonly Tensor[];
  /** From `WorkerLink.lend`; the link releases it once the batch has been answered, has failed or its worker is gone. */
  readonly region: Region;
}

export interface CallFailedMessage {
  readonly kind: 'call-failed';
  readonly call: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryAfterMs?: number;
}

export type ToWorker =
  | LoadMessage
  | UnloadMessage
  | DispatchMessage
  | CancelMessage
  | GrantMessage
  | CallAnsweredMessage
  | CallFailedMessage;

/** The model is loaded and warmed. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly model: number;
  readonly loadMs: number;
  /** Resident memory of the worker process after the load. */
  readonly residentBytes: number;
  /** What the load cost; undefined: the worker does not say. */
  readonly cost?: LoadCost;
  /** Of a generator; only with `cost`. */
  readonly probe?: GeneratorProbe;
}

export interface LoadCost {
  /** By how much the resident memory of the process grew. */
  readonly addedBytes: number;
  /** Processor time of all its threads, which does not depend on what else the machine does. */
  readonly processorMs: number;
}

/** The model could not be loaded; the worker is alive and may be given another. */
export interface LoadFailedMessage {
  readonly kind: 'load-failed';
  readonly model: number;
  readonly message: string;
  /** A retry with the same files would fail as well: they are malformed, or do not fit the engine or the configuration. */
  readonly isFinal?: true;
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
  /** The receiver of the message releases it, once, when the last row has been used. */
  readonly region: Region;
  readonly runMicros: number;
  /** Of a generator. */
  readonly generation?: GenerationReport;
}

/**
 * One of several answers to a dispatch of a decoupled model, while its batch continues. The batch ends by `answered`,
 * then without outputs, or by `failed`.
 */
export interface PartialAnswerMessage {
  readonly kind: 'partial-answer';
  readonly batch: number;
  /** From 1, without gaps. */
  readonly sequence: number;
  readonly outputs: readonly BatchTensor[];
  /** The receiver of the message releases it, once, when the outputs have been used. */
  readonly region: Region;
  /** Of a generator. */
  readonly generation?: GenerationReport;
}

export interface FailedMessage {
  readonly kind: 'failed';
  readonly batch: number;
  /** `unknown-model` means that this worker has no such model, `cancelled` that nobody waited for the batch. */
  readonly code: ErrorCode;
  readonly message: string;
  /** Of a generator. */
  readonly generation?: GenerationReport;
}

/**
 * A running batch calls another model. Each call is answered once, by `call-answered` or `call-failed`, unless its
 * batch ends before; calls that are open when a batch ends are cancelled.
 */
export interface CallMessage {
  readonly kind: 'call';
  /** Chosen by the worker, unique on this link, increasing. */
  readonly call: number;
  readonly batch: number;
  readonly model: string;
  /** Empty: the version the model prefers. */
  readonly version: string;
  readonly inputs: readonly Tensor[];
  /** Names of the wanted outputs in the wanted order; empty: all. */
  readonly outputs: readonly string[];
  /** Infinity: as long as the batch may take. */
  readonly timeoutMs: number;
  /** The receiver of the message releases it, once, when the inputs have been used. */
  readonly region: Region;
}

/** Nobody waits for the call any more; it is still answered. */
export interface CallCancelledMessage {
  readonly kind: 'call-cancelled';
  readonly call: number;
  readonly batch: number;
}

/** The worker has ended: sent by the link, last, exactly once, whatever the cause. */
export interface GoneMessage {
  readonly kind: 'gone';
  readonly reason: string;
  /** Undefined where the lane cannot tell. */
  readonly end?: WorkerEnd;
}

/** How a worker ended: by itself, by a signal from outside, or by the router, for a time limit or a violation of the protocol. */
export type WorkerEnd = 'crashed' | 'killed' | 'ended-by-router';

export type FromWorker =
  | ReadyMessage
  | LoadFailedMessage
  | CreditMessage
  | AnsweredMessage
  | PartialAnswerMessage
  | FailedMessage
  | CallMessage
  | CallCancelledMessage
  | GoneMessage;
