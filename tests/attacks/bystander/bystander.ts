/**
 * Honest callers at one address while others attack: small and 600 KB requests over REST and gRPC, health and metrics probes. Calls
 * begin at fixed times, whether or not earlier ones were answered, so that a server that hangs delays all of them.
 */
import { GrpcCalls } from './grpc-calls.ts';
import { tensorOf } from './numbers.ts';
import type { BystanderOutcome, BystanderPorts } from './outcome.ts';
import { RestCalls } from './rest-calls.ts';

const largeNumbers = 150_000;
/** Calls that may be in progress at once: a bystander must not itself become a flood. */
const outstandingMax = 300;
const problemsMax = 6;

export interface BystanderReport {
  readonly calls: number;
  readonly refused: number;
  readonly failed: number;
  readonly wrong: number;
  /** Calls not made because too many were in progress. */
  readonly skipped: number;
  /** Of the small requests, in milliseconds. */
  readonly latenciesMs: readonly number[];
  /** Of the 600 KB requests. */
  readonly largeLatenciesMs: readonly number[];
  readonly problems: readonly string[];
}

export class Bystander {
  readonly #rest: RestCalls;
  readonly #grpc: GrpcCalls;
  readonly #address: string;
  #counts = { calls: 0, refused: 0, failed: 0, wrong: 0, skipped: 0 };
  #latenciesMs: number[] = [];
  #largeLatenciesMs: number[] = [];
  #problems = new Set<string>();
  #outstanding = 0;
  #number = 0;
  #timers: NodeJS.Timeout[] = [];

  constructor(ports: BystanderPorts, address: string) {
    this.#address = address;
    this.#rest = new RestCalls(ports, address);
    this.#grpc = new GrpcCalls(ports, address);
  }

  start(): void {
    this.#counts = { calls: 0, refused: 0, failed: 0, wrong: 0, skipped: 0 };
    this.#latenciesMs = [];
    this.#largeLatenciesMs = [];
    this.#problems = new Set();
    const { small, large } = { small: this.#latenciesMs, large: this.#largeLatenciesMs };
    this.#every(20, () => this.#rest.small(this.#number++ % 100_000), small);
    this.#every(20, () => this.#grpc.infer(Float32Array.of(this.#number++ % 100_000)), small);
    this.#every(250, () => this.#rest.large(tensorOf(largeNumbers, this.#number++)), large);
    this.#every(250, () => this.#grpc.infer(tensorOf(largeNumbers, this.#number++)), large);
    this.#every(200, () => this.#rest.health());
    this.#every(200, () => this.#grpc.health());
    this.#every(500, () => this.#rest.metrics());
  }

  #every(periodMs: number, call: () => Promise<BystanderOutcome>, latenciesMs?: number[]): void {
    const slot = this.#timers.length;
    let nextAt = performance.now();
    const turn = (): void => {
      // Calls that a busy machine delayed are caught up with gradually.
      for (let at = 0; at < 5 && performance.now() >= nextAt; at++) {
        const scheduledAt = nextAt;
        nextAt += periodMs;
        void this.#one(scheduledAt, call, latenciesMs);
      }
      if (performance.now() - nextAt > 5 * periodMs) nextAt = performance.now();
      // Until the next call, not a fixed period, whose delays would add up and count as the server's latency.
      this.#timers[slot] = setTimeout(turn, nextAt - performance.now());
    };
    this.#timers.push(setTimeout(turn, 0));
  }

  async #one(scheduledAt: number, call: () => Promise<BystanderOutcome>, latenciesMs?: number[]): Promise<void> {
    if (this.#outstanding >= outstandingMax) {
      this.#counts.skipped++;
      return;
    }
    this.#outstanding++;
    this.#counts.calls++;
    const outcome = await call();
    this.#outstanding--;
    latenciesMs?.push(performance.now() - scheduledAt);
    if (outcome.kind === 'answered') return;
    this.#counts[outcome.kind]++;
    if (this.#problems.size < problemsMax) this.#problems.add(`${this.#address} ${outcome.kind}: ${outcome.problem}`);
  }

  /** Begins no further calls, and reports when all have ended. */
  async stop(): Promise<BystanderReport> {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    while (this.#outstanding > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    return {
      ...this.#counts,
      latenciesMs: this.#latenciesMs,
      largeLatenciesMs: this.#largeLatenciesMs,
      problems: [...this.#problems],
    };
  }

  /** One call of each kind, for the question whether this address is served at all. */
  async isServed(): Promise<string | undefined> {
    const outcomes = [
      await this.#rest.small(7),
      await this.#grpc.infer(Float32Array.of(7)),
      await this.#rest.large(tensorOf(largeNumbers, 7)),
    ];
    const bad = outcomes.find(({ kind }) => kind !== 'answered');
    return bad === undefined || bad.kind === 'answered' ? undefined : bad.problem;
  }

  close(): void {
    this.#rest.close();
    this.#grpc.close();
  }
}
