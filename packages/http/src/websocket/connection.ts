/**
 * The server's end of a WebSocket connection on a transport that HTTP/1.1 left. `ws` reads and writes frames; what a
 * client may hold, and for how long, is decided here, as for the other protocols of the port.
 */
import assert from 'node:assert/strict';
import type { Peer } from '../exchange.ts';
import type { ConnectionHost } from '../wire/connection-host.ts';
import { LateBytes } from '../wire/late-bytes.ts';
import type { Connection, Transport } from '../wire/transport.ts';
import type { UpgradedTransport } from '../wire/upgrade.ts';
import type { WebSocketLimits } from './config.ts';
import { WebSocketTimes } from './connection-times.ts';
import { closeCode, closePayload, isSendableCloseCode, opcode } from './protocol.ts';
import type { OnWebSocket, WebSocketConnection, WebSocketHandler } from './websocket.ts';
import { type InputOwner, WebSocketInput } from './websocket-input.ts';
import { WebSocketOutput } from './websocket-output.ts';

/** What a connection holds beside its messages. */
export const connectionOverheadBytes = 2048;

const noBytes = Buffer.alloc(0);

/** `closing`: our close frame is sent. `ending`: nothing more is read, output is sent and the transport closes. */
type Phase = 'open' | 'closing' | 'ending' | 'closed';

export class LiveWebSocket implements WebSocketConnection, Connection, InputOwner {
  readonly host: ConnectionHost;
  readonly transport: Transport;
  readonly limits: WebSocketLimits;
  readonly subprotocol: string;
  readonly input: WebSocketInput;
  isBusy: boolean = false;
  readonly #upgraded: UpgradedTransport;
  readonly #output: WebSocketOutput;
  readonly #times: WebSocketTimes;
  readonly #late = new LateBytes();
  readonly #handler: WebSocketHandler;
  #phase: Phase = 'open';
  #isDrainAwaited: boolean = false;
  #isCloseTold: boolean = false;

  /** `responseHead` answers the request for the upgrade. */
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
    this.input = new WebSocketInput(this, (holder) => memory.lease(holder));
    this.input.memory.count(connectionOverheadBytes);
    this.#output = new WebSocketOutput(host, transport, this.input.memory, this);
    this.#times = new WebSocketTimes(this);
    this.#output.append(Buffer.from(responseHead, 'latin1'));
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

  get isReadable(): boolean {
    return this.#phase === 'open' || this.#phase === 'closing';
  }

  get isOutputFull(): boolean {
    return this.#output.isFull;
  }

  get idleSinceMs(): number {
    const isIdle = this.isOpen && !this.isBusy && this.#output.unsentBytes === 0;
    return isIdle ? this.#times.restingSinceMs : Number.POSITIVE_INFINITY;
  }

  receive(bytes: Buffer): void {
    if (this.isReadable) {
      this.#times.onReceived();
      this.input.receive(bytes);
    } else this.#late.skip(bytes.length, this.transport);
  }

  onMessageBytes(bytes: number): void {
    this.#times.onMessageBytes(bytes);
  }

  onInputResumed(): void {
    this.#times.onInputResumed();
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    this.#times.onMessage();
    if (this.isOpen) this.#handler.onMessage(data, isBinary);
  }

  onPing(data: Buffer): void {
    if (this.isOpen) this.#output.sendFrame(opcode.pong, data);
  }

  onCloseFrame(code: number, reason: string): void {
    if (this.isOpen) this.#output.sendFrame(opcode.close, closePayload(code, ''));
    this.#end();
    this.#tellClose(code, reason);
  }

  pause(): void {
    if (this.isOpen) this.input.pause();
  }

  resume(): void {
    this.input.resume();
  }

  hold(bytes: number): void {
    if (!this.isClosed) this.input.hold(bytes);
  }

  give(bytes: number): void {
    this.input.memory.give(bytes);
  }

  send(data: Uint8Array | string): boolean {
    if (typeof data === 'string') return this.#sendMessage(opcode.text, Buffer.from(data));
    return this.#sendMessage(opcode.binary, data);
  }

  sendText(utf8: Uint8Array): boolean {
    return this.#sendMessage(opcode.text, utf8);
  }

  #sendMessage(kind: number, payload: Uint8Array): boolean {
    if (!this.isOpen) return false;
    this.#times.onSent();
    this.#output.sendFrame(kind, payload);
    const hasRoom = this.#output.isRoomy;
    if (!hasRoom) this.#isDrainAwaited = true;
    return hasRoom;
  }

  /** For the times: asks whether the client is still there. */
  ping(): void {
    this.#output.sendFrame(opcode.ping, noBytes);
  }

  flush(): void {
    if (!this.isClosed) this.#output.flush();
  }

  onWritable(): void {
    this.input.readOn();
    if (!this.#isDrainAwaited || !this.isOpen) return;
    this.#isDrainAwaited = false;
    this.#handler.onDrain();
  }

  close(code: number = closeCode.normal, reason: string = ''): void {
    assert(isSendableCloseCode(code), `close code ${code} may not be sent`);
    if (!this.isOpen) return;
    this.#phase = 'closing';
    this.#output.sendFrame(opcode.close, closePayload(code, reason));
    this.#times.onClosing();
    // The answer is behind what the application did not want to read.
    this.input.resume();
  }

  /** The client broke the protocol or met a limit: it is told why, and nothing more is read from it. */
  fail(code: number, reason: string): void {
    if (this.isOpen) this.#output.sendFrame(opcode.close, closePayload(code, reason));
    this.#end();
    this.#tellClose(code, reason);
  }

  /** The client has not answered the close frame in time. */
  endClosing(): void {
    this.#end();
    this.#tellClose(closeCode.lost, 'the client did not answer the close frame');
  }

  drain(): void {
    if (!this.isOpen) return;
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
    this.input.clear();
    this.input.memory.end();
    this.#upgraded.release();
    this.#tellClose(closeCode.lost, 'the connection was closed');
  }

  /** Sends what is left and closes; late bytes are discarded for a while, so that the client can read the reason. */
  #end(): void {
    if (!this.isReadable) return;
    this.#phase = 'ending';
    this.flush();
    this.input.clear();
    this.input.followHold();
    this.#times.onEnding();
    this.transport.end();
  }

  #tellClose(code: number, reason: string): void {
    if (this.#isCloseTold) return;
    this.#isCloseTold = true;
    this.#handler.onClose(code, reason);
  }
}
