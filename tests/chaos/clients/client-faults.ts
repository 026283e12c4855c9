/** Faults, one a second, chosen by a seed: workers killed, links cut, reset, delayed or swallowed, and now and then the router killed. */
import type { ChaosProxy } from 'millrace/internal';
import type { FuzzRandom } from '../../fuzz/random.ts';
import { eventually } from '../../support/eventually.ts';
import { isAlive } from '../../support/is-alive.ts';
import type { ServerProcess } from '../../support/server-process.ts';

const kinds = ['worker kill', 'reset', 'cut', 'delay', 'black hole'] as const;
type ClientFaultKind = (typeof kinds)[number];
/** How often each is drawn. */
const weights: Readonly<Record<ClientFaultKind, number>> = {
  'worker kill': 6,
  reset: 5,
  cut: 3,
  delay: 3,
  'black hole': 3,
};
const urn = kinds.flatMap((kind) => Array.from({ length: weights[kind] }, () => kind));
/** Each time one of the links that there are, by its proxy. */
const linkFaults = {
  reset: { kind: 'reset' },
  cut: { kind: 'cut' },
  delay: { kind: 'delay', delayMs: 400, jitterMs: 800, forMs: 3000 },
  'black hole': { kind: 'black-hole', forMs: undefined },
} as const;
/** A busy machine takes its time for each start of a router. */
const recoveryMsMax = 240_000;

export class ClientFaults {
  readonly #server: ServerProcess;
  readonly #paths: readonly ChaosProxy[];
  readonly #random: FuzzRandom;
  readonly counts = new Map<string, number>();
  readonly kills: number[] = [];
  readonly recoveriesMs: number[] = [];
  readonly problems: string[] = [];
  #recovery: Promise<void> | undefined = undefined;

  constructor(server: ServerProcess, paths: readonly ChaosProxy[], random: FuzzRandom) {
    this.#server = server;
    this.#paths = paths;
    this.#random = random;
  }

  /** The kinds that have not been made. */
  get missing(): readonly string[] {
    return [...kinds, 'router kill'].filter((kind) => !this.counts.has(kind));
  }

  next(isRouterDue: boolean): void {
    if (isRouterDue && this.#recovery === undefined) {
      this.#killRouter();
      return;
    }
    const kind = this.#random.pick(urn);
    if (kind === 'worker kill') this.#killWorker();
    else {
      this.#random.pick(this.#paths).apply(linkFaults[kind]);
      this.#count(kind);
    }
  }

  /** Resolves when the server is ready after the last death of its router. */
  async settle(): Promise<void> {
    await this.#recovery;
  }

  wasKilledBetween(from: number, to: number): boolean {
    return this.kills.some((at) => at >= from && at <= to);
  }

  #count(kind: string): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  #killWorker(): void {
    const workers = this.#server.records.filter(
      ({ message, pid }) => message === 'worker ready' && isAlive(pid as number),
    );
    if (workers.length === 0) return;
    if (this.#kill(this.#random.pick(workers).pid as number)) this.#count('worker kill');
  }

  #killRouter(): void {
    const pid = this.#server.routerPid;
    if (!this.#kill(pid)) return;
    this.#count('router kill');
    const killedAt = performance.now();
    const recover = async (): Promise<void> => {
      await eventually('another router listens', () => this.#server.routerPid !== pid, recoveryMsMax);
      await eventually('the server is ready again', () => isReady(this.#server), recoveryMsMax);
      this.recoveriesMs.push(performance.now() - killedAt);
    };
    this.#recovery = recover()
      .catch((error: unknown) => void this.problems.push(String(error)))
      .finally(() => {
        this.#recovery = undefined;
      });
  }

  #kill(pid: number): boolean {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has died of the last fault.
      return false;
    }
    this.kills.push(performance.now());
    return true;
  }
}

async function isReady({ url }: ServerProcess): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/v2/health/ready`, { signal: AbortSignal.timeout(2000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
