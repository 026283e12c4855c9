/** The requests of one stream, in the order in which they came, and whether there may be more of them. */
import { Cancellation } from '@millrace/protocol';
import type { StreamResponse } from './encode-stream-response.ts';

export interface StreamLimits {
  /** Requests of one stream that are not answered, or whose answers are not sent, before the caller is held back. */
  readonly requestsMax: number;
  /**
   * The same while a sequence of the stream waits for a slot. Those that have the slots may go on with requests that are
   * still to come: holding the caller back would keep both waiting. Beyond, the one that waits is refused.
   */
  readonly slotWaitRequestsMax: number;
  /** Bytes of answers that wait for those before them, likewise. */
  readonly slotWaitBytesMax: number;
}

export type Outcome =
  | { readonly response: StreamResponse; readonly release: () => void; readonly bytes: number }
  | { readonly error: unknown };

/** The place of a request in the order of answers. */
export class Place {
  readonly id: string;
  readonly cancellation = new Cancellation();
  outcome: Outcome | undefined = undefined;
  waitsForSlot: boolean = false;

  constructor(id: string) {
    this.id = id;
  }
}

export class StreamPlaces {
  readonly #limits: StreamLimits;
  #places: Place[] = [];
  /** Not answered yet, and nobody has to end something before they can be. */
  #running = 0;
  #slotWaits = 0;
  /** Of answers that are not sent. */
  #heldBytes = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#places.length === 0;
  }

  /** The caller is to be held back. `hasRoom`: it reads what it is sent. */
  isFull(hasRoom: boolean): boolean {
    const { requestsMax } = this.#limits;
    if (this.#running >= requestsMax) return true;
    return (this.#slotWaits === 0 || !hasRoom) && this.#places.length >= requestsMax;
  }

  /** As much as may be has come while a sequence waits for a slot. */
  get isStuck(): boolean {
    if (this.#slotWaits === 0) return false;
    const { slotWaitRequestsMax, slotWaitBytesMax } = this.#limits;
    return this.#places.length >= slotWaitRequestsMax || this.#heldBytes >= slotWaitBytesMax;
  }

  add(id: string): Place {
    const place = new Place(id);
    this.#places.push(place);
    this.#running += 1;
    return place;
  }

  noteSlotWait(place: Place): void {
    if (place.outcome !== undefined || place.waitsForSlot) return;
    place.waitsForSlot = true;
    this.#running -= 1;
    this.#slotWaits += 1;
  }

  /** False when it was settled before. */
  settle(place: Place, outcome: Outcome): boolean {
    if (place.outcome !== undefined) return false;
    place.outcome = outcome;
    if (place.waitsForSlot) this.#slotWaits -= 1;
    else this.#running -= 1;
    if ('bytes' in outcome) this.#heldBytes += outcome.bytes;
    return true;
  }

  slotWaits(): readonly Place[] {
    return this.#places.filter(({ waitsForSlot, outcome }) => waitsForSlot && outcome === undefined);
  }

  /** What stands at the head of the line, once it is known. */
  takeSettled(): Outcome | undefined {
    const outcome = this.#places[0]?.outcome;
    if (outcome === undefined) return undefined;
    this.#places.shift();
    if ('bytes' in outcome) this.#heldBytes -= outcome.bytes;
    return outcome;
  }

  takeAll(): readonly Place[] {
    const all = this.#places;
    this.#places = [];
    return all;
  }

  cancelAll(reason: 'cancelled' | 'deadline-exceeded'): void {
    for (const { cancellation } of this.#places) cancellation.cancel(reason);
  }
}
