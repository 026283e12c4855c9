import { randomInt } from 'node:crypto';
import {
  DispatchFrameReader,
  decodeToWorker,
  dispatchVersions,
  type FindShared,
  FrameWriter,
  frameBytesMaxDefault,
  HeapRegion,
  type HelloFrame,
  InferenceError,
  MalformedFrame,
  type Region,
  takeCommonVersion,
  type WorkerIdentity,
  type WorkerMessage,
} from '@millrace/protocol';
import { Arena, heapBytes, inFrameBytesMax, type Mapping } from '@millrace/shared-memory';
import type { JobTurns } from './job-turns.ts';
import { processorMsOfProcess } from './processor-time.ts';
import type { RouterWire } from './router-wire.ts';
import type { SessionSource } from './sessions.ts';
import { batchesMaxDefault, WorkerHost } from './worker-host.ts';

/** How long an answer may wait for others of its turn. */
const burstMsMax = 1;

export interface RouterLinkOptions {
  readonly wire: RouterWire;
  readonly sessions: SessionSource;
  /** Who this worker is, for its greeting. */
  readonly identify: () => WorkerIdentity;
  /** Maps the memory that the router announced; undefined: it cannot be mapped. */
  readonly takeMapping: (bytes: number) => Mapping | undefined;
  /** Where several links share the worker: the most batches that this one may hold, and the turns that they take. */
  readonly share?: { readonly creditMax: number; readonly turns: JobTurns };
  /** Everything requested before a stop has been answered and written. */
  readonly onStopped: () => void;
  /** The router has closed the connection. */
  readonly onEnded: () => void;
}

/** The worker's end of the local lane: frames in, host, frames out. A protocol error is thrown and ends the process. */
export class RouterLink {
  readonly #options: RouterLinkOptions;
  readonly #host: WorkerHost;
  #writer = new FrameWriter();
  #isFlushScheduled: boolean = false;
  /** Partial answers of the turn wait for its end, or for the last write to be so long ago. */
  #isBurst: boolean = false;
  #burstWrittenAt = 0;
  #findShared: FindShared | undefined;
  #outputs: Arena | undefined;
  #stopGivingBack = (): void => {};
  #frameBytesMax = frameBytesMaxDefault;
  #isFinishing: boolean = false;

  constructor(options: RouterLinkOptions) {
    this.#options = options;
    this.#host = new WorkerHost({
      sessions: options.sessions,
      batchesMax: batchesMaxDefault,
      ...options.share,
      now: () => performance.now(),
      residentBytes: () => process.memoryUsage.rss(),
      processorMs: processorMsOfProcess,
      sentinelSeed: randomInt(2 ** 32),
      isOwnProcess: true,
      lend: (bytes) => this.#lend(bytes),
      lendOutputs: (bytes) => this.#lendOutputs(bytes),
      copiedBytesMax: inFrameBytesMax,
      send: (message) => this.#send(message),
      listen: () => options.wire.listen(),
      onIdle: () => options.wire.rest(),
    });
    const reader = new DispatchFrameReader((frame) => this.#onFrame(frame));
    options.wire.open({
      receive: (chunk) => reader.push(chunk),
      ended: options.onEnded,
      isBusy: () => this.#host.isWorking,
    });
  }

  /** Answers everything received so far and takes nothing new, then calls `onStopped`. */
  finish(): void {
    if (this.#isFinishing) return;
    this.#isFinishing = true;
    this.#host.finish(() => {
      this.#flush();
      this.#options.onStopped();
    });
  }

  /** The router has left: what waits is dropped, what runs is not answered, and the models are given back. */
  close(): void {
    this.#stopGivingBack();
    this.#host.close();
  }

  #onFrame(frame: Uint8Array): void {
    const message = decodeToWorker(frame, this.#findShared ?? findNothing);
    if (this.#findShared === undefined) {
      if (message.kind !== 'hello') throw new MalformedFrame(`the first frame is a ${message.kind}, not a hello`);
      this.#onHello(message);
      return;
    }
    switch (message.kind) {
      case 'release':
        for (const offset of message.offsets) this.#outputs?.releaseAt(offset);
        break;
      case 'stop':
        this.finish();
        break;
      case 'hello':
        throw new MalformedFrame('the router sent hello twice; it is the first message only');
      case 'load':
      case 'unload':
      case 'dispatch':
        if (!this.#isFinishing) this.#host.receive(message);
        break;
      case 'cancel':
      case 'grant':
      case 'call-answered':
      case 'call-failed':
        this.#host.receive(message);
    }
  }

  #onHello({ versions, toWorkerBytes, toRouterBytes, frameBytesMax }: HelloFrame): void {
    this.#frameBytesMax = Math.min(frameBytesMax, frameBytesMaxDefault);
    this.#writer = new FrameWriter(this.#frameBytesMax);
    const identity = this.#options.identify();
    // The router refuses a worker without a common version, and needs the worker's hello to say why.
    if (takeCommonVersion(dispatchVersions, versions) === undefined || identity.refusal !== undefined) {
      this.#sendHello(0, 0, identity);
      return;
    }
    const bytes = toWorkerBytes + toRouterBytes;
    const mapping = bytes === 0 ? undefined : this.#options.takeMapping(bytes);
    if (mapping === undefined) {
      this.#findShared = findNothing;
      this.#sendHello(0, 0, identity);
    } else {
      const inputs = mapping.bytes.subarray(0, toWorkerBytes);
      this.#findShared = (offset, bytes) =>
        offset + bytes <= inputs.length
          ? { bytes: inputs.subarray(offset, offset + bytes), release: ignoreRelease }
          : undefined;
      this.#outputs = new Arena(mapping.bytes.subarray(toWorkerBytes));
      this.#stopGivingBack = this.#outputs.giveBackUnused(mapping, toWorkerBytes);
      this.#sendHello(toWorkerBytes, toRouterBytes, identity);
    }
    this.#host.start();
  }

  #sendHello(toWorkerBytes: number, toRouterBytes: number, worker: WorkerIdentity): void {
    const sizes = { toWorkerBytes, toRouterBytes, frameBytesMax: frameBytesMaxDefault };
    this.#append({ kind: 'hello', versions: dispatchVersions, ...sizes, worker });
  }

  #lend(bytes: number): Region {
    return this.#takeShared(bytes) ?? new HeapRegion(heapBytes(bytes));
  }

  /** What does not fit into a message is refused before memory is taken and written for it. */
  #lendOutputs(bytes: number): Region {
    const shared = this.#takeShared(bytes);
    if (shared === undefined && bytes > this.#frameBytesMax) {
      throw new InferenceError('unsupported', `the answer ${this.#tooLong(bytes)}`);
    }
    return shared ?? new HeapRegion(heapBytes(bytes));
  }

  #takeShared(bytes: number): Region | undefined {
    return bytes > inFrameBytesMax ? this.#outputs?.takeRegion(bytes) : undefined;
  }

  #tooLong(bytes: number): string {
    const limit = `the longest message to the router, ${this.#frameBytesMax} bytes`;
    return `of ${bytes} bytes exceeds ${limit}; send fewer rows in a request`;
  }

  #send(message: WorkerMessage): InferenceError | undefined {
    if (message.kind !== 'answered' && message.kind !== 'partial-answer' && message.kind !== 'call') {
      this.#append(message);
      return undefined;
    }
    const { region } = message;
    const sharedOffset = this.#outputs?.offsetOf(region);
    if (this.#append(message, sharedOffset)) {
      if (sharedOffset === undefined) region.release();
      return undefined;
    }
    region.release();
    const bytes = this.#tooLong(region.bytes.length);
    if (message.kind === 'partial-answer') {
      return new InferenceError('unsupported', `the answer ${bytes}`);
    }
    if (message.kind === 'answered') {
      this.#append({ kind: 'failed', batch: message.batch, code: 'unsupported', message: `the answer ${bytes}` });
      return undefined;
    }
    const { call, model } = message;
    const text = `the call of model '${model}' ${bytes}`;
    queueMicrotask(() => this.#host.receive({ kind: 'call-failed', call, code: 'unsupported', message: text }));
    return undefined;
  }

  /** Messages of one turn are written at its end, before the next run blocks this thread. */
  #append(message: HelloFrame | WorkerMessage, sharedOffset?: number): boolean {
    if (!this.#writer.append(message, sharedOffset)) return false;
    if (message.kind === 'partial-answer' && this.#joinsBurst()) return true;
    if (!this.#isFlushScheduled) {
      this.#isFlushScheduled = true;
      queueMicrotask(() => this.#flush());
    }
    return true;
  }

  /**
   * A pipeline that gives one answer after the other without waiting for any event would cause a write for each of them. The
   * first of a turn is written at once, the others at its end; one that comes late, because the pipeline computes, at once.
   */
  #joinsBurst(): boolean {
    const now = performance.now();
    if (this.#isBurst && now - this.#burstWrittenAt < burstMsMax) return true;
    this.#burstWrittenAt = now;
    if (this.#isBurst) return false;
    this.#isBurst = true;
    setImmediate(() => {
      this.#isBurst = false;
      this.#flush();
    });
    return false;
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (this.#writer.isEmpty) return;
    const bytes = this.#writer.takeBytes();
    if (this.#options.wire.write(bytes)) this.#writer.recycle(bytes);
  }
}

const findNothing: FindShared = () => undefined;
const ignoreRelease = (): void => {};
