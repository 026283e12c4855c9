/** A TCP proxy that makes networks fail on purpose: for the chaos tests, the failure drill and `millrace chaos`. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type ChaosClock, noShaping, type Shaping } from './chaos-direction.ts';
import { ChaosLink, type LinkEnd } from './chaos-link.ts';
import type { Fault } from './fault.ts';

export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export interface ChaosLimits {
  /** A connection above it is reset at once. */
  readonly connectionsMax: number;
  /** Of each direction of a connection. */
  readonly bufferedBytesMax: number;
}

export const defaultChaosLimits: ChaosLimits = { connectionsMax: 1024, bufferedBytesMax: 1024 * 1024 };

export type ChaosEvent =
  | { readonly kind: 'opened'; readonly link: number; readonly from: string }
  | ({ readonly kind: 'ended'; readonly link: number } & LinkEnd)
  | { readonly kind: 'refused'; readonly from: string; readonly connectionsMax: number }
  /** `links`: how many connections it hit. */
  | { readonly kind: 'fault'; readonly fault: Fault; readonly links: number }
  /** The time of a fault is over. */
  | { readonly kind: 'over'; readonly fault: Fault };

export interface ChaosProxyOptions {
  readonly target: TcpAddress;
  /** Port 0: the system chooses. */
  readonly listen?: TcpAddress;
  readonly limits?: ChaosLimits;
  /** In [0, 1): decides jitter. */
  readonly random: () => number;
  readonly onEvent?: (event: ChaosEvent) => void;
  readonly clock?: ChaosClock;
}

type LastingFault = Extract<Fault, { readonly forMs: number | undefined }>;

const systemChaosClock: ChaosClock = {
  now: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

export class ChaosProxy {
  /** Where it listens. */
  readonly address: TcpAddress;
  readonly #server: Server;
  readonly #options: ChaosProxyOptions;
  readonly #limits: ChaosLimits;
  readonly #clock: ChaosClock;
  readonly #links = new Set<ChaosLink>();
  /** Functions that cancel the ends of faults, by kind. */
  readonly #ends = new Map<Fault['kind'], () => void>();
  #shaping: Shaping = noShaping;
  #isHeld: boolean = false;
  #lastLink = 0;
  #whenEmpty: () => void = () => {};

  private constructor(server: Server, options: ChaosProxyOptions) {
    const { address, port } = server.address() as AddressInfo;
    this.address = { host: address, port };
    this.#server = server;
    this.#options = options;
    this.#limits = options.limits ?? defaultChaosLimits;
    this.#clock = options.clock ?? systemChaosClock;
    server.on('connection', (client) => this.#accept(client));
  }

  /** Resolves when it listens. Rejects with the error of the system where it cannot. */
  static async open(options: ChaosProxyOptions): Promise<ChaosProxy> {
    const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 };
    const server = createServer({ noDelay: true, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    return new ChaosProxy(server, options);
  }

  /** Connections through it, those in a black hole included. */
  get linkCount(): number {
    return this.#links.size;
  }

  /** There are connections, and no fault keeps anything from passing, apart from those that are lost for good. */
  get isHealthy(): boolean {
    const live = [...this.#links].filter((link) => !link.isLost);
    return live.length > 0 && live.every((link) => link.isHealthy);
  }

  apply(fault: Fault): void {
    const hit = [...this.#links].filter((link) => !link.isLost);
    this.#tell({ kind: 'fault', fault, links: hit.length });
    switch (fault.kind) {
      case 'cut':
        for (const link of hit) link.cut('cut');
        break;
      case 'reset':
        for (const link of hit) link.reset('reset');
        break;
      case 'half-close':
        for (const link of hit) link.halfClose(fault.side);
        break;
      case 'black-hole':
        if (fault.forMs === undefined) for (const link of hit) link.swallow();
        else this.#hold(true);
        break;
      case 'delay':
        this.#shape({ ...this.#shaping, delayMs: fault.delayMs, jitterMs: fault.jitterMs });
        break;
      case 'limit':
        this.#shape({ ...this.#shaping, bytesPerSecond: fault.bytesPerSecond });
        break;
      case 'heal':
        for (const cancel of this.#ends.values()) cancel();
        this.#ends.clear();
        this.#shape(noShaping);
        this.#hold(false);
    }
    if ('forMs' in fault) this.#endAfter(fault);
  }

  /** Resolves when it listens no more and every socket is closed. */
  async close(): Promise<void> {
    for (const cancel of this.#ends.values()) cancel();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    for (const link of this.#links) link.cut('proxy closed');
    if (this.#links.size > 0) await empty;
    await closed;
  }

  #accept(client: Socket): void {
    const from = `${client.remoteAddress}:${client.remotePort}`;
    const { connectionsMax, bufferedBytesMax } = this.#limits;
    if (this.#links.size >= connectionsMax) {
      client.resetAndDestroy();
      this.#tell({ kind: 'refused', from, connectionsMax });
      return;
    }
    const server = connect({ ...this.#options.target, noDelay: true, allowHalfOpen: true });
    this.#lastLink += 1;
    const parts = { clock: this.#clock, random: this.#options.random, bufferedBytesMax };
    const link = new ChaosLink(this.#lastLink, client, server, parts, (end) => {
      this.#links.delete(link);
      this.#tell({ kind: 'ended', link: link.id, ...end });
      if (this.#links.size === 0) this.#whenEmpty();
    });
    this.#links.add(link);
    link.shape(this.#shaping);
    link.hold(this.#isHeld);
    this.#tell({ kind: 'opened', link: link.id, from });
  }

  #shape(shaping: Shaping): void {
    this.#shaping = shaping;
    for (const link of this.#links) link.shape(shaping);
  }

  #hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const link of this.#links) link.hold(isHeld);
  }

  /** A fault of the same kind replaces one whose time is not over. */
  #endAfter(fault: LastingFault): void {
    this.#ends.get(fault.kind)?.();
    this.#ends.delete(fault.kind);
    if (fault.forMs === undefined) return;
    const cancel = this.#clock.after(fault.forMs, () => {
      this.#ends.delete(fault.kind);
      if (fault.kind === 'black-hole') this.#hold(false);
      else if (fault.kind === 'delay') this.#shape({ ...this.#shaping, delayMs: 0, jitterMs: 0 });
      else this.#shape({ ...this.#shaping, bytesPerSecond: undefined });
      this.#tell({ kind: 'over', fault });
    });
    this.#ends.set(fault.kind, cancel);
  }

  #tell(event: ChaosEvent): void {
    this.#options.onEvent?.(event);
  }
}
