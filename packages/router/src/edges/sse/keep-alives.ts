/**
 * Keeps idle connections open: proxies close those on which nothing is sent for a while. All wait equally long, so that the
 * order in which they sent something last is the order in which they are due, and one timer is enough.
 */
import type { Clock } from '../../data-plane/clock.ts';

/** Half of what common proxies wait at least. */
export const keepAliveMs = 15_000;

/** Connections that are woken in one turn of the event loop. */
const wokenPerTurnMax = 256;

/** A connection that sends something when nothing was sent for a while. */
export interface KeptAlive {
  onIdle(): void;
}

export class KeepAlives {
  readonly #clock: Pick<Clock, 'now' | 'alarm'>;
  /** When each is due, the first to be woken first. */
  readonly #dueMs = new Map<KeptAlive, number>();
  #isTimed: boolean = false;

  constructor(clock: Pick<Clock, 'now' | 'alarm'>) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#dueMs.size;
  }

  /** Something is sent now, or the connection begins. */
  renew(connection: KeptAlive): void {
    this.#dueMs.delete(connection);
    this.#dueMs.set(connection, this.#clock.now() + keepAliveMs);
    if (!this.#isTimed) this.#wakeAfter(keepAliveMs);
  }

  /** The connection has ended. */
  remove(connection: KeptAlive): void {
    this.#dueMs.delete(connection);
  }

  #wakeAfter(delayMs: number): void {
    this.#isTimed = true;
    this.#clock.alarm(delayMs, () => this.#wake());
  }

  #wake(): void {
    this.#isTimed = false;
    const now = this.#clock.now();
    let woken = 0;
    for (const [connection, dueMs] of this.#dueMs) {
      if (dueMs > now || woken === wokenPerTurnMax) {
        this.#wakeAfter(Math.max(0, dueMs - now));
        return;
      }
      woken += 1;
      // Before it is told: what it sends may be taken at once, and counts from now.
      this.#dueMs.delete(connection);
      this.#dueMs.set(connection, now + keepAliveMs);
      connection.onIdle();
    }
  }
}
