/** Everything about a WebSocket connection that depends on time, checked once a second. */
import { checkMsOf, isBodyQuickEnough, lingerMs } from '../wire/connection-check.ts';
import { ResponsePace } from '../wire/response-pace.ts';
import { WheelEntry } from '../wire/timing-wheel.ts';
import type { LiveWebSocket } from './connection.ts';
import { closeCode } from './protocol.ts';

export class WebSocketTimes extends WheelEntry {
  readonly #connection: LiveWebSocket;
  readonly #pace: ResponsePace;
  readonly #bornMs: number;
  #receivedMs: number;
  #messageMs: number;
  #pingedMs = -1;
  #starvedMs = -1;
  #closingMs = -1;
  #endingMs = -1;
  #agedMs = -1;
  /** Since when a message has been arriving; -1 between messages. */
  #arrivingMs = -1;
  /** Bytes since the rate of that message was last checked, and when that was. */
  #rateBytes = 0;
  #rateMs: number;

  constructor(connection: LiveWebSocket) {
    super();
    this.#connection = connection;
    const { wheel } = connection.host;
    this.#bornMs = wheel.nowMs;
    this.#receivedMs = wheel.nowMs;
    this.#messageMs = wheel.nowMs;
    this.#rateMs = wheel.nowMs;
    this.#pace = new ResponsePace(wheel.nowMs);
    wheel.set(this, wheel.nowMs + this.#checkMs());
  }

  #checkMs(): number {
    const { host, limits } = this.#connection;
    const { keepAlivePingMs, keepAliveTimeoutMs } = host.limits;
    return Math.min(checkMsOf(host.limits), keepAlivePingMs, keepAliveTimeoutMs, limits.closeMsMax);
  }

  get #nowMs(): number {
    return this.#connection.host.wheel.nowMs;
  }

  /** When the last message was sent or complete, or the connection opened. */
  get restingSinceMs(): number {
    return this.#messageMs;
  }

  onReceived(): void {
    this.#receivedMs = this.#nowMs;
    this.#pingedMs = -1;
  }

  /** Counts the content of messages only: framing and control frames are no progress. */
  onMessageBytes(bytes: number): void {
    this.#rateBytes += bytes;
  }

  onSent(): void {
    this.#messageMs = this.#nowMs;
  }

  onMessage(): void {
    this.#messageMs = this.#nowMs;
    this.#arrivingMs = -1;
  }

  /** Time in which nothing was read does not count against the client. */
  onInputResumed(): void {
    this.onReceived();
    this.#restartRate(this.#nowMs);
  }

  onClosing(): void {
    this.#closingMs = this.#nowMs;
  }

  onEnding(): void {
    this.#endingMs = this.#nowMs;
  }

  stop(): void {
    this.#connection.host.wheel.clear(this);
  }

  override onDue(nowMs: number): void {
    const connection = this.#connection;
    this.#check(nowMs);
    if (!connection.isClosed) connection.host.wheel.set(this, nowMs + this.#checkMs());
  }

  #check(nowMs: number): void {
    const connection = this.#connection;
    const { host, limits, transport } = connection;
    const isPending = transport.pendingBytes > 0;
    // While output is still being read, only the limits for slow readers apply.
    if (this.#endingMs >= 0 && isPending) this.#endingMs = nowMs;
    if (this.#closingMs >= 0 && isPending) this.#closingMs = nowMs;
    const isOver = this.#endingMs >= 0 && nowMs - this.#endingMs >= lingerMs;
    const isAged = this.#agedMs >= 0 && nowMs - this.#agedMs >= host.limits.connectionAgeGraceMs;
    if (isOver || isAged || this.#pace.isTooSlow(isPending, transport.takenBytes, host.limits, nowMs)) {
      transport.destroy();
    } else if (this.#endingMs >= 0) return;
    else if (this.#closingMs >= 0) {
      if (nowMs - this.#closingMs >= limits.closeMsMax) connection.endClosing();
    } else {
      this.#checkInput(nowMs);
      if (connection.isOpen) this.#checkAge(nowMs);
    }
  }

  #checkInput(nowMs: number): void {
    const connection = this.#connection;
    const { limits } = connection.host;
    if (!connection.input.isStarved) this.#starvedMs = -1;
    else if (this.#starvedMs < 0) this.#starvedMs = nowMs;
    else if (nowMs - this.#starvedMs >= limits.memoryWaitMsMax) connection.input.refuse();
    if (connection.input.isHeld) {
      this.onInputResumed();
      return;
    }
    if (!connection.input.isMessageAwaited) {
      this.#arrivingMs = -1;
      this.#restartRate(nowMs);
    } else if (!this.#isMessageComing(nowMs)) {
      connection.fail(closeCode.policy, 'the message arrived too slowly');
      return;
    }
    if (this.#pingedMs >= 0) {
      if (nowMs - this.#pingedMs >= limits.keepAliveTimeoutMs) connection.transport.destroy();
    } else if (nowMs - this.#receivedMs >= limits.keepAlivePingMs) {
      this.#pingedMs = nowMs;
      connection.ping();
    }
  }

  #isMessageComing(nowMs: number): boolean {
    const { limits } = this.#connection.host;
    if (this.#arrivingMs < 0) this.#arrivingMs = nowMs;
    if (nowMs - this.#arrivingMs >= limits.bodyMsMax) return false;
    const sinceMs = nowMs - this.#rateMs;
    if (sinceMs < limits.bodyStallMsMax) return true;
    const bytes = this.#rateBytes;
    this.#restartRate(nowMs);
    return isBodyQuickEnough(bytes, sinceMs, limits);
  }

  #restartRate(nowMs: number): void {
    this.#rateMs = nowMs;
    this.#rateBytes = 0;
  }

  #checkAge(nowMs: number): void {
    const connection = this.#connection;
    const { limits } = connection.host;
    if (nowMs - this.#bornMs >= limits.connectionAgeMsMax) {
      this.#agedMs = nowMs;
      connection.drain();
    } else if (!connection.isBusy && nowMs - this.#messageMs >= limits.idleMsMax) connection.endIdle();
  }
}
