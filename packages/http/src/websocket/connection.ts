/**
 * The server's end of a WebSocket connection on a transport that HTTP/1.1 left. `ws` reads and writes frames; what a
 * client may hold, and for how long, is decided here, as for the other protocols of the port.
 */
import assert from 'node:assert/strict';
import { Sender } from 'ws';
import type { Peer } from '../exchange.ts';
import { unpinned } from '../wire/byte-gatherer.ts';
import type { ConnectionHost } from '../wire/connection-host.ts';
import { LateBytes } from '../wire/late-bytes.ts';
import type { MemoryHolder, MemoryLease, MemoryVerdict } from '../wire/memory.ts';
import { Output } from '../wire/output.ts';
import { TokenBucket } from '../wire/token-bucket.ts';
import type { Connection, Transport } from '../wire/transport.ts';
import type { UpgradedTransport } from '../wire/upgrade.ts';
import { piecesPerTurn } from '../wire/yield-turn.ts';
import type { WebSocketLimits } from './config.ts';
import { WebSocketTimes } from './connection-times.ts';
import { FrameGatherer, type WebSocketFrameSink } from './frame-gatherer.ts';
import { closeCode, closePayload, isControlFrame, isFinalFrame, isSendableCloseCode, opcode } from './protocol.ts';
import type { OnWebSocket, WebSocketConnection, WebSocketHandler } from './websocket.ts';
import { WebSocketReader, type WebSocketReaderSink } from './websocket-reader.ts';

/** What a connection holds beside its messages, and each fragment beside its payload. */
export const connectionOverheadBytes = 2048;
const fragmentOverheadBytes = 128;

const noBytes = Buffer.alloc(0);

/** `open`; `closing`: our close frame is sent; `ending`: nothing more is read, output is sent and the transport closes. */
type Phase = 'open' | 'closing' | 'ending' | 'closed';

export class LiveWebSocket
  implements WebSocketConnection, Connection, WebSocketFrameSink, WebSocketReaderSink, MemoryHolder
{
  readonly host: ConnectionHost;
  readonly transport: Transport;
  readonly limits: WebSocketLimits;
  readonly subprotocol: string;
  isBusy: boolean = false;
  /** Waits for memory. */
  isStarved: boolean = false;
  readonly #upgraded: UpgradedTransport;
  readonly #memory: MemoryLease;
  readonly #output: Output;
  readonly #frames: FrameGatherer;
  readonly #messages: WebSocketReader;
  readonly #times: WebSocketTimes;
  readonly #controlFrames: TokenBucket;
  readonly #late = new LateBytes();
  readonly #handler: WebSocketHandler;
  #phase: Phase = 'open';
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
  #isDrainAwaited: boolean = false;
  #isFlushQueued: boolean = false;
  #isCloseTold: boolean = false;

  constructor(
    upgraded: UpgradedTransport,
    limits: WebSocketLimits,
    subprotocol: string,
    responseHead: string,
    onWebSocket: OnWebSocket,
  ) {
    const { host, transport, memory } = upgraded;
    this.host = host;
    this.transport = transport;
    this.limits = limits;
    this.subprotocol = subprotocol;
    this.#upgraded = upgraded;
    this.#memory = memory.lease(this);
    this.#memory.count(connectionOverheadBytes);
    this.#output = new Output(host.arena, transport);
    this.#frames = new FrameGatherer(this, this.#memory);
    this.#messages = new WebSocketReader(this, limits);
    const { controlFramesBurstMax, controlFramesPerSecondMax } = host.limits;
    this.#controlFrames = new TokenBucket(controlFramesBurstMax, controlFramesPerSecondMax, host.wheel.nowMs);
    this.#times = new WebSocketTimes(this);
    this.#append(Buffer.from(responseHead, 'latin1'));
    this.transport.resume();
    this.#handler = onWebSocket(this);
  }

  get peer(): Peer {
    return this.transport.peer;
  }

  get unsentBytes(): number {
    return this.#output.unsentBytes;
  }

  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  get isClosed(): boolean {
    return this.#phase === 'closed';
  }

  /** Nothing is read for now: the application asked for that, memory or room for output is awaited, or others' turn. */
  get isInputHeld(): boolean {
    return (
      this.#isPaused ||
      this.isStarved ||
      this.#isYielding ||
      this.#output.unsentBytes >= 2 * this.host.limits.outputBytesMax
    );
  }

  /** The rest of a message or of a frame is expected. */
  get isMessageAwaited(): boolean {
    return this.#isInMessage || this.#frames.isInFrame;
  }

  get idleSinceMs(): number {
    const isIdle = this.#phase === 'open' && !this.isBusy && this.#output.unsentBytes === 0;
    return isIdle ? this.#times.restingSinceMs : Number.POSITIVE_INFINITY;
  }

  receive(bytes: Buffer): void {
    if (this.#phase === 'ending' || this.#phase === 'closed') {
      this.#late.skip(bytes.length, this.transport);
      return;
    }
    this.#times.onReceived();
    if (this.#rest.length === 0 && !this.#isReading) {
      this.#framesOfTurn = 0;
      this.#read(bytes);
    } else this.#keepRest(Buffer.concat([this.#takeRest(), bytes]));
  }

  /** Reads frame by frame, so that the application can stop it after each message. */
  #read(bytes: Buffer): void {
    let at = 0;
    this.#isReading = true;
    while (at < bytes.length && this.#isReadable) {
      if (this.isInputHeld) {
        // What was collected in this turn may have filled the output, and the transport may take it.
        this.flush();
        if (this.isInputHeld) {
          this.#keepRest(bytes.subarray(at));
          break;
        }
      }
      at = this.#frames.read(bytes, at);
      if (at < 0) break;
      if (this.#framesOfTurn > piecesPerTurn) this.#yield();
    }
    this.#isReading = false;
    this.flush();
    this.#followInput();
  }

  get #isReadable(): boolean {
    return this.#phase === 'open' || this.#phase === 'closing';
  }

  /** Continues where reading stopped, if it may. */
  #readOn(): void {
    if (this.#isReading || this.isInputHeld || !this.#isReadable) return;
    const rest = this.#takeRest();
    if (rest.length > 0) this.#read(rest);
    else this.#followInput();
  }

  /** The rest of a chunk with very many frames is read in the next turn of the event loop, after other connections. */
  #yield(): void {
    this.#isYielding = true;
    setImmediate(() => {
      this.#isYielding = false;
      this.#framesOfTurn = 0;
      this.#readOn();
    });
  }

  #followInput(): void {
    const isHeld = this.isInputHeld && this.#isReadable;
    if (isHeld === this.#isTransportPaused) return;
    this.#isTransportPaused = isHeld;
    if (isHeld) this.transport.pause();
    else {
      this.#times.onInputResumed();
      this.transport.resume();
    }
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

  onFrameHead(head: Buffer): boolean {
    this.#framesOfTurn++;
    this.#isControl = isControlFrame(head);
    this.#isFinal = isFinalFrame(head);
    if (!this.#isControl) {
      this.#isInMessage = true;
      this.#holdMessage(fragmentOverheadBytes);
    } else if (!this.#controlFrames.spend(this.host.wheel.nowMs)) {
      this.fail(closeCode.policy, 'too many ping and pong frames');
      return false;
    }
    return this.#pass(head);
  }

  onPayloadBytes(count: number): boolean {
    if (!this.#isControl) {
      this.#times.onMessageBytes(count);
      this.#holdMessage(count);
    }
    return this.#isReadable;
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

  /** False when the bytes were against the protocol or a limit of messages, or ended the connection. */
  #pass(bytes: Uint8Array): boolean {
    const fault = this.#messages.read(bytes);
    if (fault !== undefined) this.fail(fault.code, fault.reason);
    return this.#isReadable;
  }

  #holdMessage(bytes: number): void {
    this.#messageBytes += bytes;
    this.#follow(this.#memory.hold(bytes));
  }

  #follow(verdict: MemoryVerdict): void {
    if (verdict === 'waiting') this.isStarved = true;
    else if (verdict === 'refused') this.refuseMemory();
  }

  hold(bytes: number): void {
    if (this.isClosed) return;
    this.#follow(this.#memory.hold(bytes));
    this.#followInput();
  }

  give(bytes: number): void {
    this.#memory.give(bytes);
  }

  /** For the ledger: there is memory again. */
  onMemory(): void {
    this.isStarved = false;
    this.#readOn();
  }

  /** The client has waited too long for memory, or too much arrived meanwhile. */
  refuseMemory(): void {
    this.isStarved = false;
    const reason = 'what this client has sent and not read takes its share of the memory; try again later';
    this.fail(closeCode.tryAgainLater, reason);
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    this.#times.onMessage();
    if (this.#phase === 'open') this.#handler.onMessage(data, isBinary);
  }

  onPing(data: Buffer): void {
    if (this.#phase === 'open') this.#sendFrame(opcode.pong, data);
  }

  onCloseFrame(code: number, reason: string): void {
    if (this.#phase === 'open') this.#sendFrame(opcode.close, closePayload(code, ''));
    this.#end();
    this.#tellClose(code, reason);
  }

  pause(): void {
    if (this.#phase !== 'open') return;
    this.#isPaused = true;
    this.#followInput();
  }

  resume(): void {
    this.#isPaused = false;
    this.#readOn();
  }

  send(data: Uint8Array | string): boolean {
    if (typeof data === 'string') return this.#sendMessage(opcode.text, Buffer.from(data));
    return this.#sendMessage(opcode.binary, data);
  }

  sendText(utf8: Uint8Array): boolean {
    return this.#sendMessage(opcode.text, utf8);
  }

  #sendMessage(kind: number, payload: Uint8Array): boolean {
    if (this.#phase !== 'open') return false;
    this.#times.onSent();
    this.#sendFrame(kind, payload);
    const hasRoom = this.#output.unsentBytes < this.host.limits.outputBytesMax;
    if (!hasRoom) this.#isDrainAwaited = true;
    return hasRoom;
  }

  /** For the times: asks whether the client is still there. */
  ping(): void {
    this.#sendFrame(opcode.ping, noBytes);
  }

  #sendFrame(kind: number, payload: Uint8Array): void {
    for (const piece of Sender.frame(payload, { fin: true, opcode: kind })) this.#append(piece);
  }

  #append(piece: Uint8Array): void {
    const bytes = piece.length;
    if (!this.#output.append(piece)) {
      this.#memory.count(bytes);
      this.#output.whenTaken(() => this.#memory.give(bytes));
    }
    if (this.#isReading || this.#isFlushQueued) return;
    this.#isFlushQueued = true;
    this.host.flushLater(this);
  }

  flush(): void {
    this.#isFlushQueued = false;
    if (!this.isClosed) this.#output.flush();
  }

  onWritable(): void {
    this.#readOn();
    if (!this.#isDrainAwaited || this.#phase !== 'open') return;
    this.#isDrainAwaited = false;
    this.#handler.onDrain();
  }

  close(code: number = closeCode.normal, reason: string = ''): void {
    assert(isSendableCloseCode(code), `close code ${code} may not be sent`);
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    this.#sendFrame(opcode.close, closePayload(code, reason));
    this.#times.onClosing();
    // The answer is behind what the application did not want to read.
    this.resume();
  }

  /** The client broke the protocol or met a limit: it is told why, and nothing more is read from it. */
  fail(code: number, reason: string): void {
    if (this.#phase === 'open') this.#sendFrame(opcode.close, closePayload(code, reason));
    this.#end();
    this.#tellClose(code, reason);
  }

  /** The client has not answered the close frame in time. */
  endClosing(): void {
    this.#end();
    this.#tellClose(closeCode.lost, 'the client did not answer the close frame');
  }

  drain(): void {
    if (this.#phase !== 'open') return;
    this.#handler.onGoingAway?.();
    this.close(closeCode.goingAway, 'the server closes this connection; connect again');
  }

  endIdle(): void {
    this.close(closeCode.goingAway, 'the connection was idle');
    this.flush();
  }

  receiveEnd(): void {
    this.#end();
    this.#tellClose(closeCode.lost, 'the client closed the connection');
  }

  onClosed(): void {
    this.#phase = 'closed';
    this.#times.stop();
    this.#output.discard();
    this.#release();
    this.#memory.end();
    this.#upgraded.release();
    this.#tellClose(closeCode.lost, 'the connection was closed');
  }

  /** Sends what is left and closes; late bytes are discarded for a while, so that the client can read the reason. */
  #end(): void {
    if (!this.#isReadable) return;
    this.#phase = 'ending';
    this.flush();
    this.#release();
    this.#followInput();
    this.#times.onEnding();
    this.transport.end();
  }

  /** Frees what has arrived and will not be read. */
  #release(): void {
    this.#takeRest();
    this.#frames.clear();
    this.#messages.close();
    this.#giveMessage();
  }

  #giveMessage(): void {
    this.#memory.give(this.#messageBytes);
    this.#messageBytes = 0;
  }

  #tellClose(code: number, reason: string): void {
    if (this.#isCloseTold) return;
    this.#isCloseTold = true;
    this.#handler.onClose(code, reason);
  }
}
