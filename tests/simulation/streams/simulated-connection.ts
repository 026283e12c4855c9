/** A connection between a client and a router: delays, and, where inputs come in calls of their own, loss and disorder. */
import type { ArrivedInput, FlowCredit, LinkFrame, StreamError } from '@millrace/core';
import type { SimulationRandom } from '../world/random.ts';
import type { Timeline } from '../world/timeline.ts';
import type { SimulatedValue } from './reference-run.ts';
import type { StreamWeather } from './stream-weather.ts';

/** How the connections of a world behave. */
export type ConnectionWeather = Pick<StreamWeather, 'faultsUntil' | 'isUnordered' | 'linkMsMax' | 'lossShare'>;

export type ClientFrame =
  | { readonly kind: 'input'; readonly input: ArrivedInput<SimulatedValue> }
  | { readonly kind: 'acknowledge'; readonly output: number; readonly credit: FlowCredit }
  | { readonly kind: 'cancel' };

/** One end of a connection. */
export interface ConnectionEnd<Frame> {
  onFrame(connection: SimulatedConnection, frame: Frame): void;
  /** Undefined: the connection broke. */
  onClosed(connection: SimulatedConnection, error: StreamError | undefined): void;
}

/** The end of the router, which hears what the transport has taken. */
export interface ServerEnd extends ConnectionEnd<ClientFrame> {
  onTaken(connection: SimulatedConnection, output: number): void;
}

export class SimulatedConnection {
  readonly id: number;
  readonly client: ConnectionEnd<LinkFrame<SimulatedValue>>;
  readonly server: ServerEnd;
  readonly #timeline: Timeline;
  readonly #random: SimulationRandom;
  readonly #weather: ConnectionWeather;
  #isOpen: boolean = true;
  /** Outputs that were sent and have not arrived. */
  unsentOutputs = 0;
  #toClientAt = 0;
  #toServerAt = 0;

  constructor(
    id: number,
    client: ConnectionEnd<LinkFrame<SimulatedValue>>,
    server: ServerEnd,
    parts: { readonly timeline: Timeline; readonly random: SimulationRandom; readonly weather: ConnectionWeather },
  ) {
    this.id = id;
    this.client = client;
    this.server = server;
    this.#timeline = parts.timeline;
    this.#random = parts.random;
    this.#weather = parts.weather;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  toClient(frame: LinkFrame<SimulatedValue>): void {
    this.#toClientAt = this.#inOrder(this.#toClientAt);
    if (frame.kind === 'output') this.unsentOutputs += 1;
    this.#timeline.at(this.#toClientAt, () => {
      if (!this.#isOpen) return;
      this.client.onFrame(this, frame);
      if (frame.kind !== 'output') return;
      this.unsentOutputs -= 1;
      this.server.onTaken(this, frame.output.sequence);
    });
  }

  toServer(frame: ClientFrame): void {
    const { isUnordered, lossShare } = this.#weather;
    if (!isUnordered || frame.kind !== 'input') {
      this.#toServerAt = this.#inOrder(this.#toServerAt);
      this.#arrive(this.#toServerAt, frame);
      return;
    }
    if (this.#isFaulty && this.#random.chance(lossShare)) return;
    this.#arrive(this.#timeline.nowMs + this.#delay(), frame);
    if (this.#isFaulty && this.#random.chance(lossShare)) this.#arrive(this.#timeline.nowMs + this.#delay(), frame);
  }

  /** The server closes: what it sent before arrives first. */
  closeByServer(error: StreamError): void {
    this.#toClientAt = this.#inOrder(this.#toClientAt);
    this.#timeline.at(this.#toClientAt, () => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      this.client.onClosed(this, error);
    });
  }

  /** The client leaves; the server hears of it. */
  closeByClient(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#timeline.after(this.#delay(), () => this.server.onClosed(this, undefined));
  }

  /** It breaks; each side hears of it some time later, while frames of the client may still arrive. */
  cut(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#timeline.after(this.#delay(), () => this.client.onClosed(this, undefined));
    this.#timeline.after(this.#delay() * 5, () => this.server.onClosed(this, undefined));
  }

  #arrive(at: number, frame: ClientFrame): void {
    this.#timeline.at(at, () => this.server.onFrame(this, frame));
  }

  get #isFaulty(): boolean {
    return this.#timeline.nowMs < this.#weather.faultsUntil;
  }

  #delay(): number {
    return this.#random.next() * this.#weather.linkMsMax;
  }

  #inOrder(before: number): number {
    return Math.max(before, this.#timeline.nowMs + this.#delay());
  }
}
