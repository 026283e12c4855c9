/** Everything about an HTTP/1.1 connection that depends on time, checked once a second. */
import { checkMsOf, drainQuietMs, isBodyQuickEnough, lingerMs } from '../wire/connection-check.ts';
import { ResponsePace } from '../wire/response-pace.ts';
import { WheelEntry } from '../wire/timing-wheel.ts';
import type { Http1Connection } from './connection.ts';
import type { Http1Exchange } from './exchange.ts';

export class Http1Times extends WheelEntry {
  readonly #connection: Http1Connection;
  readonly #bornMs: number;
  #headMs: number;
  #answeredMs: number;
  #endingMs = -1;
  #drainingMs = -1;
  #quietMs = -1;
  readonly #pace: ResponsePace;
  /** Bytes since the body's rate was last checked, and when that was. */
  #bodyBytes = 0;
  #bodyMs: number;
  #bodyStartMs: number;
  #hasServed: boolean = false;

  constructor(connection: Http1Connection) {
    super();
    this.#connection = connection;
    const { nowMs } = connection.host.wheel;
    this.#bornMs = nowMs;
    this.#headMs = nowMs;
    this.#answeredMs = nowMs;
    this.#pace = new ResponsePace(nowMs);
    this.#bodyMs = nowMs;
    this.#bodyStartMs = nowMs;
    connection.host.wheel.set(this, nowMs + this.#checkMs());
  }

  #checkMs(): number {
    return checkMsOf(this.#connection.host.limits);
  }

  get #nowMs(): number {
    return this.#connection.host.wheel.nowMs;
  }

  /** When the last request was answered, or the connection opened; while a head arrives, when the head began. */
  get restingSinceMs(): number {
    return this.#connection.isInHead ? this.#headMs : this.#answeredMs;
  }

  /** Counts content bytes only: framing bytes are no progress. */
  onBodyBytes(bytes: number): void {
    this.#bodyBytes += bytes;
  }

  onHeadBegins(): void {
    this.#headMs = this.#nowMs;
  }

  onBodyBegins(): void {
    this.#bodyStartMs = this.#nowMs;
    this.#hasServed = true;
    this.onBodyResumed();
  }

  /** Time in which nobody asked for the body does not count against its rate. */
  onBodyResumed(): void {
    this.#bodyMs = this.#nowMs;
    this.#bodyBytes = 0;
  }

  onAnswered(): void {
    this.#answeredMs = this.#nowMs;
  }

  /** A request was answered as its head arrived. */
  onAnsweredAtOnce(): void {
    const nowMs = this.#nowMs;
    this.#headMs = nowMs;
    this.#answeredMs = nowMs;
    this.#hasServed = true;
  }

  /** The server drains and the connection has no request: it closes if none arrives. */
  onQuiet(): void {
    this.#quietMs = this.#nowMs;
    this.#connection.host.wheel.set(this, this.#quietMs + drainQuietMs);
  }

  onEnding(): void {
    if (this.#endingMs < 0) this.#endingMs = this.#nowMs;
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
    const { limits } = connection.host;
    // While an answer is still being read, only the limits for slow readers apply.
    if (this.#endingMs >= 0 && connection.transport.pendingBytes > 0) this.#endingMs = nowMs;
    const isOver = this.#endingMs >= 0 && nowMs - this.#endingMs >= lingerMs;
    const isOld = this.#drainingMs >= 0 && nowMs - this.#drainingMs >= limits.connectionAgeGraceMs;
    if (isOver || isOld || this.#isStalled(nowMs)) connection.destroy();
    else if (this.#endingMs >= 0) return;
    else if (connection.exchange?.isStarved) this.#checkStarved(connection.exchange, nowMs);
    else if (connection.isInHead) {
      if (nowMs - this.#headMs >= limits.headMsMax) {
        connection.expire(`the head of the request did not arrive within ${limits.headMsMax} ms`);
      }
    } else if (connection.isBodyAwaited) {
      if (!this.#isBodyComing(nowMs)) connection.expire('the body of the request arrived too slowly');
    } else if (connection.exchange === undefined && !connection.isNextAwaited) {
      if (this.#quietMs >= 0 && nowMs - this.#quietMs >= drainQuietMs) {
        connection.endIdle();
        return;
      }
      const limitMs = this.#hasServed ? limits.idleMsMax : Math.min(limits.prefaceMsMax, limits.idleMsMax);
      if (nowMs - this.#answeredMs >= limitMs) connection.endIdle();
    } else this.onBodyResumed();
    if (nowMs - this.#bornMs >= limits.connectionAgeMsMax && this.#drainingMs < 0) {
      this.#drainingMs = nowMs;
      connection.drain();
    }
  }

  #checkStarved(exchange: Http1Exchange, nowMs: number): void {
    if (exchange.starvedMs < 0) exchange.starvedMs = nowMs;
    else if (nowMs - exchange.starvedMs >= this.#connection.host.limits.memoryWaitMsMax) exchange.refuse();
    this.onBodyResumed();
  }

  #isStalled(nowMs: number): boolean {
    const { transport, host } = this.#connection;
    return this.#pace.isTooSlow(transport.pendingBytes > 0, transport.takenBytes, host.limits, nowMs);
  }

  #isBodyComing(nowMs: number): boolean {
    const { limits } = this.#connection.host;
    if (nowMs - this.#bodyStartMs >= limits.bodyMsMax) return false;
    const sinceMs = nowMs - this.#bodyMs;
    if (sinceMs < limits.bodyStallMsMax) return true;
    const bytes = this.#bodyBytes;
    this.#bodyBytes = 0;
    this.#bodyMs = nowMs;
    return isBodyQuickEnough(bytes, sinceMs, limits);
  }
}
