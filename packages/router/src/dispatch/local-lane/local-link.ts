import {
  type CallAnsweredMessage,
  DispatchFrameReader,
  type DispatchMessage,
  decodeFromWorker,
  dispatchVersions,
  type FrameFromWorker,
  type FrameToWorker,
  FrameWriter,
  type FromWorker,
  frameBytesMaxDefault,
  type HelloFrame,
  type LaneLife,
  type LoadSpec,
  MalformedFrame,
  type Region,
  type ToWorker,
  takeCommonVersion,
  VersionMismatch,
  type WorkerEnd,
  type WorkerIdentity,
  type WorkerLink,
} from '@millrace/protocol';
import type { MappingPool } from '@millrace/shared-memory';
import type { ChannelListener, WorkerChannel, WorkerSource } from '../worker-source.ts';
import { BatchesInFlight } from './batches-in-flight.ts';
import type { LocalLaneOptions } from './local-lane.ts';
import { OutputReleases } from './output-releases.ts';
import { WorkerMemory } from './worker-memory.ts';

export type LocalLinkOptions = Pick<
  LocalLaneOptions,
  'sharedMemoryBytesMax' | 'isMemoryPoisoned' | 'messageBytesMax' | 'onSharedMemoryUnavailable'
>;

/** Larger inputs that do not fit into shared memory are written to the socket without a copy, which would take too long. */
const referenceBytesMin = 1024 * 1024;

/** The router's end of a link to a worker on this host: its channel, and the memory shared with it. */
export class LocalLink implements WorkerLink, ChannelListener {
  readonly #receive: (message: FromWorker) => void;
  readonly #onUnavailable: (reason: string) => void;
  readonly #channel: WorkerChannel;
  readonly #life: LaneLife;
  readonly #memory: WorkerMemory;
  readonly #frameBytesMax: number;
  readonly #writer: FrameWriter;
  readonly #reader: DispatchFrameReader;
  readonly #batches = new BatchesInFlight();
  readonly #findOutput = (offset: number, bytes: number): Region | undefined => this.#memory.takeOutput(offset, bytes);
  readonly #releases = new OutputReleases(
    () => !this.#batches.isEmpty,
    () => {
      this.#appendReleases();
      this.#flush();
    },
  );
  /** A flush is scheduled: at first with the worker's hello, later at the end of the turn. */
  #isFlushScheduled: boolean = true;
  #hasGreeted: boolean = false;
  #identity: WorkerIdentity | undefined;
  #isStopping: boolean = false;
  #isGone: boolean = false;
  /** Why this side killed the worker, if it did. */
  #verdict: string | undefined;
  /** The reason that its owner gave for killing it, if any; it may answer until it has exited. */
  #killedFor: string | undefined;

  constructor(
    source: WorkerSource,
    options: LocalLinkOptions,
    memories: MappingPool,
    receive: (message: FromWorker) => void,
  ) {
    const frameBytesMax = options.messageBytesMax ?? frameBytesMaxDefault;
    this.#receive = receive;
    this.#frameBytesMax = frameBytesMax;
    this.#onUnavailable = options.onSharedMemoryUnavailable ?? (() => {});
    this.#writer = new FrameWriter(frameBytesMax, referenceBytesMin);
    this.#reader = new DispatchFrameReader((frame) => this.#onFrame(frame), frameBytesMax);
    this.#memory = new WorkerMemory(
      memories,
      options.sharedMemoryBytesMax,
      (offset) => this.#releases.add(offset),
      this.#onUnavailable,
      options.isMemoryPoisoned,
    );
    this.#life = source.life;
    this.#channel = source.open(this);
    const { bytes } = this.#memory;
    const sizes = { toWorkerBytes: bytes, toRouterBytes: bytes, frameBytesMax };
    this.#writer.append({ kind: 'hello', versions: dispatchVersions, ...sizes });
    this.#write();
  }

  get identity(): WorkerIdentity | undefined {
    return this.#identity;
  }

  get pid(): number | undefined {
    return this.#channel.pid;
  }

  get memoryDescriptor(): number | undefined {
    return this.#memory.descriptor;
  }

  lend(bytes: number): Region {
    return this.#memory.lend(bytes);
  }

  lendArriving(bytes: number): Region | undefined {
    return this.#memory.lendArriving(bytes);
  }

  joinArrived(inputs: readonly Uint8Array[]): Region | undefined {
    return this.#memory.joinArrived(inputs);
  }

  get arrivingBytes(): number {
    return this.#memory.arrivingBytes;
  }

  send(message: ToWorker): void {
    if (message.kind === 'dispatch') {
      this.#dispatch(message);
      return;
    }
    if (message.kind === 'call-answered') {
      this.#answerCall(message);
      return;
    }
    const isNew = message.kind === 'load' || message.kind === 'unload';
    // A stopping worker gets nothing new, but still gets messages about what it has begun.
    if (this.#isGone || (this.#isStopping && isNew)) return;
    if (message.kind === 'load') {
      if (message.spec.concurrency !== undefined) this.#batches.isOrdered = false;
      if (message.spec.isDecoupled === true) this.#batches.decoupledModels.add(message.spec.model);
    }
    if (!this.#append(message) && message.kind === 'load') this.#refuseLoad(message.spec);
  }

  stop(): void {
    if (this.#isStopping || this.#isGone) return;
    this.#isStopping = true;
    this.#append({ kind: 'stop' });
  }

  kill(reason?: string): void {
    if (this.#isGone) return;
    this.#isStopping = true;
    this.#killedFor ??= reason;
    this.#channel.kill();
  }

  #dispatch(message: DispatchMessage): void {
    if (this.#isGone) {
      message.region.release();
      this.#memory.discardIfUnused();
      return;
    }
    if (this.#isStopping || this.#append(message, this.#memory.offsetOf(message.region))) {
      this.#batches.push(message);
      return;
    }
    const text = this.#tooLong(
      `a batch of ${message.region.bytes.length} bytes`,
      'send fewer or smaller rows in a request',
    );
    this.#batches.push(message, { kind: 'failed', batch: message.batch, code: 'unsupported', message: text });
    queueMicrotask(() => this.#deliverRefusals());
  }

  #answerCall(message: CallAnsweredMessage): void {
    const { call, batch, region } = message;
    if (this.#isGone || !this.#batches.has(batch)) {
      region.release();
      if (this.#isGone) this.#memory.discardIfUnused();
      return;
    }
    const sharedOffset = this.#memory.offsetOf(region);
    const isSent = this.#append(message, sharedOffset);
    if (isSent && sharedOffset !== undefined) {
      this.#batches.hold(batch, region);
      return;
    }
    region.release();
    if (isSent) return;
    const text = this.#tooLong(`an answer of ${region.bytes.length} bytes`, 'call the model with fewer rows');
    this.#append({ kind: 'call-failed', call, code: 'unsupported', message: text });
  }

  #refuseLoad({ model, name }: LoadSpec): void {
    const message = this.#tooLong(`the configuration of model "${name}"`, 'shorten it');
    queueMicrotask(() => this.#isGone || this.#receive({ kind: 'load-failed', model, message }));
  }

  #tooLong(what: string, advice: string): string {
    return `${what} exceeds the longest message to a worker, ${this.#frameBytesMax} bytes; ${advice}`;
  }

  /**
   * Messages of one turn are written at its end. (Writing at the end of the whole round of events was no faster alone, and
   * would wait for every other socket's turn in a busy router.)
   */
  #append(frame: FrameToWorker, sharedOffset?: number): boolean {
    this.#appendReleases();
    if (!this.#writer.append(frame, sharedOffset)) return false;
    if (!this.#isFlushScheduled) {
      this.#isFlushScheduled = true;
      queueMicrotask(() => this.#flush());
    }
    return true;
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    this.#write();
  }

  #write(): void {
    if (this.#writer.isEmpty) return;
    if (this.#writer.hasReferences) {
      for (const piece of this.#writer.takePieces()) this.#channel.write(piece);
      return;
    }
    const bytes = this.#writer.takeBytes();
    if (this.#channel.write(bytes)) this.#writer.recycle(bytes);
  }

  #appendReleases(): void {
    for (const offsets of this.#releases.take()) this.#writer.append({ kind: 'release', offsets });
  }

  onData(chunk: Uint8Array): void {
    if (this.#verdict !== undefined) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#verdict = verdictOn(error, this.#life);
      this.#channel.kill();
    }
  }

  #onFrame(frame: Uint8Array): void {
    const message = decodeFromWorker(frame, this.#findOutput);
    if (this.#hasGreeted) this.#onMessage(message);
    else if (message.kind === 'hello') this.#onHello(message);
    else throw new MalformedFrame(`the first frame is a ${message.kind}, not a hello`);
  }

  #onHello({ versions, toWorkerBytes, toRouterBytes, frameBytesMax, worker }: HelloFrame): void {
    if (worker?.refusal !== undefined) throw new LinkRefused(worker.refusal);
    if (takeCommonVersion(dispatchVersions, versions) === undefined) {
      throw new VersionMismatch(dispatchVersions, versions);
    }
    if (frameBytesMax < this.#frameBytesMax) {
      throw new MalformedFrame(
        `it takes frames of at most ${frameBytesMax} bytes, but must take those of ${this.#frameBytesMax}`,
      );
    }
    this.#hasGreeted = true;
    this.#identity = worker;
    this.#flush();
    const { bytes } = this.#memory;
    if (bytes === 0) return;
    if (toWorkerBytes === bytes && toRouterBytes === bytes) this.#memory.share();
    else this.#onUnavailable(`worker process ${this.pid} could not map the shared memory it inherited`);
  }

  #onMessage(message: FrameFromWorker): void {
    switch (message.kind) {
      case 'hello':
        throw new MalformedFrame('the worker sent hello twice; it is the first message only');
      case 'answered':
      case 'failed':
        if (message.kind === 'answered') this.#batches.mustTakeAnswered(message);
        else this.#batches.mustTake(message.batch);
        this.#receive(message);
        this.#deliverRefusals();
        break;
      case 'partial-answer':
        this.#batches.mustNotePart(message);
        this.#receive(message);
        break;
      case 'call':
        if (!this.#batches.has(message.batch)) {
          throw new MalformedFrame(`a call by batch ${message.batch}, which is not in flight`);
        }
        this.#receive(message);
        break;
      case 'ready':
      case 'load-failed':
      case 'credit':
      case 'call-cancelled':
        this.#receive(message);
    }
  }

  #deliverRefusals(): void {
    for (let refusal = this.#batches.takeRefusal(); refusal !== undefined; refusal = this.#batches.takeRefusal()) {
      this.#receive(refusal);
    }
  }

  onEnd(reason: string, end?: WorkerEnd): void {
    this.#isGone = true;
    this.#releases.close();
    this.#batches.clear();
    this.#memory.close();
    const why = this.#verdict ?? this.#killedFor;
    if (why === undefined) this.#receive({ kind: 'gone', reason, ...(end === undefined ? {} : { end }) });
    else this.#receive({ kind: 'gone', reason: `${reason}; ${why}`, end: 'ended-by-router' });
  }
}

/** An attached worker does not take the link. */
class LinkRefused extends Error {}

/** Why this side ended the link, for a violation of the protocol; any other error is a bug of this side and is rethrown. */
function verdictOn(error: unknown, life: LaneLife): string {
  if (error instanceof LinkRefused) return `the worker refused the link: ${error.message}`;
  if (error instanceof VersionMismatch) return `it was refused: ${error.message}`;
  const what = life === 'started' ? 'was killed' : 'the link was closed';
  if (error instanceof MalformedFrame) return `it broke the protocol and ${what}: ${error.message}`;
  throw error;
}
