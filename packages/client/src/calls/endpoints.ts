/** The servers of a client: their transports, and the checks that bring one back that was given up. */
import type { ClientClock } from '../client-clock.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { EndpointSet } from '../policy/endpoint-set.ts';
import type { EndpointTransports } from '../transports/transport.ts';

/** How long a server may take to say that it is ready. */
const checkMsMax = 2000;

export class Endpoints {
  readonly #transports: readonly EndpointTransports[];
  readonly #set: EndpointSet;
  readonly #clock: ClientClock;
  #stopTimer: (() => void) | undefined = undefined;
  #isClosed: boolean = false;
  readonly #closing = new Set<() => void>();

  constructor(transports: readonly EndpointTransports[], clock: ClientClock) {
    this.#transports = transports;
    this.#set = new EndpointSet(transports.length);
    this.#clock = clock;
  }

  /** The index of the one to use now; a retry avoids the one that failed, where another is as well. */
  choose(avoid = -1): number {
    return this.#set.choose(this.#clock.nowMs(), avoid);
  }

  at(index: number): EndpointTransports {
    return this.#transports[index] as EndpointTransports;
  }

  onAnswer(index: number): void {
    this.#set.onAnswer(index);
  }

  onError(index: number, error: MillraceError): void {
    const nowMs = this.#clock.nowMs();
    if (error.code === 'unreachable') this.#set.onFailure(index, nowMs, this.#clock.random());
    else {
      this.#set.onAnswer(index);
      if (error.code === 'draining') this.#set.onDraining(index, nowMs);
    }
    this.#schedule();
  }

  onDraining(index: number): void {
    this.#set.onDraining(index, this.#clock.nowMs());
  }

  /** Calls back when the client is closed; returns what takes that back. Throws where it is closed already. */
  whenClosed(callback: () => void): () => void {
    if (this.#isClosed) throw new TypeError('the client is closed');
    this.#closing.add(callback);
    return () => this.#closing.delete(callback);
  }

  close(): void {
    this.#isClosed = true;
    for (const callback of [...this.#closing]) callback();
    this.#stopTimer?.();
    for (const { calls, links } of this.#transports) {
      calls.close();
      links.close();
    }
  }

  #schedule(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const atMs = this.#set.nextCheckAtMs();
    if (atMs === Number.POSITIVE_INFINITY || this.#isClosed) return;
    this.#stopTimer = this.#clock.setTimer(atMs - this.#clock.nowMs(), () => {
      for (const index of this.#set.takeChecks(this.#clock.nowMs())) this.#check(index);
      this.#schedule();
    });
  }

  #check(index: number): void {
    const { result, stop } = this.at(index).calls.isServerReady({ timeoutMs: checkMsMax, headers: [] });
    let isDone = false;
    const finish = (isReady: boolean): void => {
      if (isDone) return;
      isDone = true;
      stopTimer();
      this.#set.onChecked(index, isReady, this.#clock.nowMs(), this.#clock.random());
      this.#schedule();
    };
    const stopTimer = this.#clock.setTimer(checkMsMax, () => {
      stop();
      finish(false);
    });
    result.then(finish, (error: unknown) => {
      if (!(error instanceof MillraceError)) throw error;
      finish(false);
    });
  }
}
