/**
 * The reading half of a WebSocket connection: passes frames to the protocol's reader one by one, so that reading stops
 * after any message, and counts what arrives as memory of its owner.
 */
import { unpinned } from '../wire/byte-gatherer.ts';
import type { ConnectionHost } from '../wire/connection-host.ts';
import type { MemoryHolder, MemoryLease, MemoryVerdict } from '../wire/memory.ts';
import { TokenBucket } from '../wire/token-bucket.ts';
import type { Transport } from '../wire/transport.ts';
import { piecesPerTurn } from '../wire/yield-turn.ts';
import type { WebSocketLimits } from './config.ts';
import { FrameGatherer, type WebSocketFrameSink } from './frame-gatherer.ts';
import { closeCode, isControlFrame, isFinalFrame } from './protocol.ts';
import { WebSocketReader, type WebSocketReaderSink } from './websocket-reader.ts';

/** What each fragment holds beside its payload. */
const fragmentOverheadBytes = 128;

const noBytes = Buffer.alloc(0);

/** The connection that the input belongs to. */
export interface InputOwner extends WebSocketReaderSink {
  readonly host: ConnectionHost;
  readonly transport: Transport;
  readonly limits: WebSocketLimits;
  /** False once nothing more is to be read. */
  readonly isReadable: boolean;
  /** So much is unsent that nothing more is read. */
  readonly isOutputFull: boolean;
  flush(): void;
  /** Content of a message arrived. */
  onMessageBytes(bytes: number): void;
  /** The transport is read again. */
  onInputResumed(): void;
  /** The client broke the protocol or met a limit. */
  fail(code: number, reason: string): void;
}

export class WebSocketInput implements WebSocketFrameSink, MemoryHolder {
  /** Waits for memory. */
  isStarved: boolean = false;
  readonly #owner: InputOwner;
  readonly #memory: MemoryLease;
  readonly #frames: FrameGatherer;
  readonly #reader: WebSocketReader;
  readonly #controlFrames: TokenBucket;
  /** Arrived and not read yet, because the input is held. */
  #rest: Buffer = noBytes;
  /** Memory of the message that is arriving. */
  #messageBytes = 0;
  /** Between the first fragment of a message and the end of its last. */
  #isInMessage: boolean = false;
  /** Of the frame that is being read. */
  #isControl: boolean = false;
  #isFinal: boolean = false;
  #framesOfTurn = 0;
  #isReading: boolean = false;
  #isPaused: boolean = false;
  #isYielding: boolean = false;
  #isTransportPaused: boolean = false;

  /** `lease` is asked for with the input as its holder. */
  constructor(owner: InputOwner, lease: (holder: MemoryHolder) => MemoryLease) {
    this.#owner = owner;
    this.#memory = lease(this);
    this.#frames = new FrameGatherer(this, this.#memory);
    this.#reader = new WebSocketReader(owner, owner.limits);
    const { limits, wheel } = owner.host;
    this.#controlFrames = new TokenBucket(limits.controlFramesBurstMax, limits.controlFramesPerSecondMax, wheel.nowMs);
  }

  get memory(): MemoryLease {
    return this.#memory;
  }

  /** Nothing is read for now: the application asked for that, memory or room for output is awaited, or others' turn. */
  get isHeld(): boolean {
    return this.#isPaused || this.isStarved || this.#isYielding || this.#owner.isOutputFull;
  }

  /** The rest of a message or of a frame is expected. */
  get isMessageAwaited(): boolean {
    return this.#isInMessage || this.#frames.isInFrame;
  }

  receive(bytes: Buffer): void {
    if (this.#rest.length === 0) {
      this.#framesOfTurn = 0;
      this.#read(bytes);
    } else this.#keepRest(Buffer.concat([this.#takeRest(), bytes]));
  }

  pause(): void {
    this.#isPaused = true;
    this.followHold();
  }

  resume(): void {
    this.#isPaused = false;
    this.readOn();
  }

  /** Continues where reading stopped, if it may. */
  readOn(): void {
    if (this.#isReading || this.isHeld || !this.#owner.isReadable) return;
    const rest = this.#takeRest();
    if (rest.length > 0) this.#read(rest);
    else this.followHold();
  }

  /** Stops and restarts the transport as the input is held or not. */
  followHold(): void {
    const isHeld = this.isHeld && this.#owner.isReadable;
    if (isHeld === this.#isTransportPaused) return;
    this.#isTransportPaused = isHeld;
    if (isHeld) this.#owner.transport.pause();
    else {
      this.#owner.onInputResumed();
      this.#owner.transport.resume();
    }
  }

  hold(bytes: number): void {
    this.#follow(this.#memory.hold(bytes));
    this.followHold();
  }

  /** For the ledger: there is memory again. */
  onMemory(): void {
    this.isStarved = false;
    this.readOn();
  }

  /** The client has waited too long for memory, or too much arrived meanwhile. */
  refuse(): void {
    this.isStarved = false;
    const reason = 'what this client has sent and not read takes its share of the memory; try again later';
    this.#owner.fail(closeCode.tryAgainLater, reason);
  }

  /** Frees what has arrived and will not be read. */
  clear(): void {
    this.#takeRest();
    this.#frames.clear();
    this.#reader.close();
    this.#giveMessage();
  }

  onFrameHead(head: Buffer): boolean {
    this.#framesOfTurn++;
    this.#isControl = isControlFrame(head);
    this.#isFinal = isFinalFrame(head);
    if (!this.#isControl) {
      this.#isInMessage = true;
      this.#holdMessage(fragmentOverheadBytes);
    } else if (!this.#controlFrames.spend(this.#owner.host.wheel.nowMs)) {
      this.#owner.fail(closeCode.policy, 'too many ping and pong frames');
      return false;
    }
    return this.#pass(head);
  }

  onPayloadBytes(count: number): boolean {
    if (!this.#isControl) {
      this.#owner.onMessageBytes(count);
      this.#holdMessage(count);
    }
    return this.#owner.isReadable;
  }

  onPayload(payload: Uint8Array): void {
    this.#pass(payload);
  }

  onFrameEnd(): void {
    if (this.#isControl || !this.#isFinal) return;
    this.#isInMessage = false;
    this.#memory.complete();
    this.#giveMessage();
  }

  #read(bytes: Buffer): void {
    let at = 0;
    this.#isReading = true;
    while (at < bytes.length && this.#owner.isReadable) {
      if (this.isHeld) {
        // What was collected in this turn may have filled the output, and the transport may take it.
        this.#owner.flush();
        if (this.isHeld) {
          this.#keepRest(bytes.subarray(at));
          break;
        }
      }
      at = this.#frames.read(bytes, at);
      if (at < 0) break;
      if (this.#framesOfTurn > piecesPerTurn) this.#yield();
    }
    this.#isReading = false;
    this.#owner.flush();
    this.followHold();
  }

  /** The rest of a chunk with very many frames is read in the next turn of the event loop, after other connections. */
  #yield(): void {
    this.#isYielding = true;
    setImmediate(() => {
      this.#isYielding = false;
      this.#framesOfTurn = 0;
      this.readOn();
    });
  }

  #keepRest(bytes: Buffer): void {
    this.#rest = unpinned(bytes);
    this.#memory.count(this.#rest.length);
  }

  #takeRest(): Buffer {
    const rest = this.#rest;
    this.#rest = noBytes;
    this.#memory.give(rest.length);
    return rest;
  }

  /** False when the bytes were against the protocol or a limit of messages, or ended the connection. */
  #pass(bytes: Uint8Array): boolean {
    const fault = this.#reader.read(bytes);
    if (fault !== undefined) this.#owner.fail(fault.code, fault.reason);
    return this.#owner.isReadable;
  }

  #holdMessage(bytes: number): void {
    this.#messageBytes += bytes;
    this.#follow(this.#memory.hold(bytes));
  }

  #giveMessage(): void {
    this.#memory.give(this.#messageBytes);
    this.#messageBytes = 0;
  }

  #follow(verdict: MemoryVerdict): void {
    if (verdict === 'waiting') this.isStarved = true;
    else if (verdict === 'refused') this.refuse();
  }
}
