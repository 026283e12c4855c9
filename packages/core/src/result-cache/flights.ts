/**
 * Identical requests in flight at the same time: one is run, its leader's, and the others follow it. A flight lasts as
 * long as somebody waits for it, whoever that is: when the leader disconnects, the run continues for the others.
 */
import { RenewedMap } from '@millrace/protocol';
import { assert } from '../assert.ts';

export interface FlightLimits {
  /** Requests that may follow, over all flights. */
  readonly followersMax: number;
  /** Bytes of input that they may hold while they wait. */
  readonly followerBytesMax: number;
}

/** What happens to the waiters of a run that failed. */
export interface FailedFlight<Waiter> {
  /** These get the failure. */
  readonly told: readonly Waiter[];
  /** The new leader of the remaining waiters: its request is run now. */
  readonly next: Waiter | undefined;
}

interface Flight<Waiter> {
  /** Whose request is run; undefined once it has disconnected. */
  leader: Waiter | undefined;
  /** In the order of their arrival, the leader included; with the bytes that each holds. */
  readonly waiters: Map<Waiter, number>;
}

export class Flights<Waiter> {
  readonly #limits: FlightLimits;
  readonly #flights = new RenewedMap<string, Flight<Waiter>>();
  #followers = 0;
  #followerBytes = 0;

  constructor(limits: FlightLimits) {
    this.#limits = limits;
  }

  get followers(): number {
    return this.#followers;
  }

  get followerBytes(): number {
    return this.#followerBytes;
  }

  /** Number of flights. */
  get size(): number {
    return this.#flights.size;
  }

  /**
   * `lead`: run the request; later ones with the same key follow it. `follow`: it waits for one that runs. `alone`: too
   * many follow already, so run it by itself, under the limits of the queue.
   */
  join(key: string, waiter: Waiter, bytes: number): 'lead' | 'follow' | 'alone' {
    const flight = this.#flights.get(key);
    if (flight === undefined) {
      this.#flights.set(key, { leader: waiter, waiters: new Map([[waiter, bytes]]) });
      return 'lead';
    }
    const { followersMax, followerBytesMax } = this.#limits;
    if (this.#followers >= followersMax || this.#followerBytes + bytes > followerBytesMax) return 'alone';
    flight.waiters.set(waiter, bytes);
    this.#followers += 1;
    this.#followerBytes += bytes;
    return 'follow';
  }

  /** The waiter has disconnected. True: it was the last one, so the flight is over and nobody needs its run. */
  leave(key: string, waiter: Waiter): boolean {
    const flight = this.#mustFly(key);
    if (flight.leader === waiter) flight.leader = undefined;
    else this.#forgetFollower(flight, waiter);
    flight.waiters.delete(waiter);
    if (flight.waiters.size > 0) return false;
    this.#flights.delete(key);
    return true;
  }

  /** The longest waiting one. */
  takeOldest(key: string): Waiter | undefined {
    for (const waiter of this.#flights.get(key)?.waiters.keys() ?? []) return waiter;
    return undefined;
  }

  /** The run was answered: returns all waiters in the order of their arrival. */
  answered(key: string): readonly Waiter[] {
    const flight = this.#mustFly(key);
    this.#flights.delete(key);
    return this.#everyone(flight);
  }

  /**
   * The run failed. A failure caused by the request itself would meet every follower, so all get it. Any other
   * (a full queue, a dead worker, a limit of the leader's own) concerns the leader alone: the oldest of the
   * others leads now.
   */
  failed(key: string, isAboutRequest: boolean): FailedFlight<Waiter> {
    const flight = this.#mustFly(key);
    const { leader, waiters } = flight;
    if (isAboutRequest) {
      this.#flights.delete(key);
      return { told: this.#everyone(flight), next: undefined };
    }
    if (leader !== undefined) waiters.delete(leader);
    const told = leader === undefined ? [] : [leader];
    for (const next of waiters.keys()) {
      this.#forgetFollower(flight, next);
      flight.leader = next;
      return { told, next };
    }
    this.#flights.delete(key);
    return { told, next: undefined };
  }

  #everyone(flight: Flight<Waiter>): readonly Waiter[] {
    for (const waiter of flight.waiters.keys()) {
      if (waiter !== flight.leader) this.#forgetFollower(flight, waiter);
    }
    return [...flight.waiters.keys()];
  }

  #forgetFollower(flight: Flight<Waiter>, waiter: Waiter): void {
    const bytes = flight.waiters.get(waiter);
    assert(bytes !== undefined, 'a follower waits for the flight it joined');
    this.#followers -= 1;
    this.#followerBytes -= bytes;
  }

  #mustFly(key: string): Flight<Waiter> {
    const flight = this.#flights.get(key);
    assert(flight !== undefined, 'the flight exists');
    return flight;
  }
}
