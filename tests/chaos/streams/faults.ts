/** Faults, one a second, chosen by a seed: workers killed, links cut, delayed or swallowed, a second client, and now and then the router. */
import type { ChaosProxy } from 'millrace/internal';
import type { FuzzRandom } from '../../fuzz/random.ts';
import { eventually } from '../../support/eventually.ts';
import { isAlive } from '../../support/is-alive.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import type { StreamDialect } from './dialect.ts';
import type { DurableClient } from './durable-client.ts';
import type { GapWatch } from './gap-watch.ts';
import { Rival } from './rival.ts';
import { modelNames } from './stream-plans.ts';

/** A client's place in the run: its way to the server, and the stream that it has now. */
export interface Seat {
  readonly path: ChaosProxy;
  client: DurableClient | undefined;
}

export interface FaultParts {
  readonly server: ServerProcess;
  readonly seats: readonly Seat[];
  readonly random: FuzzRandom;
  readonly gaps: GapWatch;
  /** By one of which the second client comes, directly to this address. */
  readonly rivalDialects: readonly StreamDialect[];
  readonly serverAddress: string;
}

export interface Kill {
  readonly at: number;
  /** Undefined: the router, and all workers with it. */
  readonly group: string | undefined;
}

type FaultKind = 'worker kill' | 'link cut' | 'delay' | 'black hole' | 'second client';
/** How often each is drawn, of twenty. */
const weights: Readonly<Record<FaultKind, number>> = {
  'worker kill': 6,
  'link cut': 7,
  delay: 3,
  'black hole': 2,
  'second client': 2,
};
export const faultKinds = Object.keys(weights) as readonly FaultKind[];
const urn = faultKinds.flatMap((kind) => Array.from({ length: weights[kind] }, () => kind));

/** When the router dies: at once, right after a stream was opened, or right after an input was sent. */
const routerMoments = ['now', 'opened', 'input'] as const;
type RouterMoment = (typeof routerMoments)[number];

/** A busy machine takes its time for each start of a router. */
const recoveryMsMax = 240_000;

export class Faults {
  readonly #parts: FaultParts;
  #undrawn: FaultKind[] = [];
  readonly counts = new Map<string, number>();
  readonly kills: Kill[] = [];
  readonly problems: string[] = [];
  /** Milliseconds from each death of the router until all models were ready. */
  readonly recoveriesMs: number[] = [];
  readonly #rivals = new Set<Rival>();
  /** Faults on links, by edge. */
  readonly #hits = new Map<StreamDialect, number>();
  #routerKills = 0;
  #awaited: RouterMoment | undefined;
  #recovery: Promise<void> = Promise.resolve();
  #isRecovering: boolean = false;

  constructor(parts: FaultParts) {
    this.#parts = parts;
  }

  /** One of them; the router's death if it is time for it. */
  next(isRouterDue: boolean): void {
    if (isRouterDue && this.#awaited === undefined && !this.#isRecovering) {
      const moment = routerMoments[this.#routerKills % routerMoments.length] as RouterMoment;
      if (moment === 'now') this.#killRouter(moment);
      else this.#awaited = moment;
      return;
    }
    const kind = this.#drawKind();
    const isMade = kind === 'worker kill' ? this.#killWorker() : this.#faultOnLink(kind);
    // There may be no worker now, or no link: the other one is hit then, if there is any.
    if (isMade) return;
    if (kind === 'worker kill') this.#faultOnLink('link cut');
    else this.#killWorker();
  }

  /** Something happened to a stream that the router may be about to die after. */
  notice(moment: RouterMoment): void {
    if (this.#awaited === moment) this.#killRouter(moment);
  }

  /** Resolves when every model is ready after the last death of the router. */
  async settle(): Promise<void> {
    this.#awaited = undefined;
    await this.#recovery;
    for (const rival of this.#rivals) rival.close();
  }

  wasKilledDuring({ openedAt, endedAt }: DurableClient): boolean {
    return this.kills.some(({ at }) => at >= openedAt && at <= endedAt);
  }

  #count(kind: string): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  /** False: there is none. */
  #killWorker(): boolean {
    const { server, random, seats, gaps } = this.#parts;
    const workers = server.records.filter(({ message, pid }) => message === 'worker ready' && isAlive(pid as number));
    if (workers.length === 0) return false;
    const { pid, group } = random.pick(workers) as unknown as { readonly pid: number; readonly group: string };
    if (!killed(pid)) return false;
    this.#count('worker kill');
    this.kills.push({ at: performance.now(), group });
    for (const { client } of seats) {
      if (client === undefined || !isIn(group, client.options.plan.model)) continue;
      client.note(`worker ${pid} of ${group} killed`);
      gaps.begin(client, 'worker kill');
    }
    return true;
  }

  /** Without putting it back: every kind comes within twenty draws. */
  #drawKind(): FaultKind {
    if (this.#undrawn.length === 0) this.#undrawn = [...urn];
    const [kind] = this.#undrawn.splice(this.#parts.random.below(this.#undrawn.length), 1);
    return kind as FaultKind;
  }

  /** False: there is none. */
  #faultOnLink(kind: Exclude<FaultKind, 'worker kill'>): boolean {
    const { seats, random, gaps, rivalDialects, serverAddress } = this.#parts;
    const exposed = seats.filter(({ path, client }) => path.isHealthy && client?.isAttached === true);
    const hits = exposed.map((seat) => this.#hitsOn(seat));
    // Edges with few streams get their share.
    const seat = random.pick(exposed.filter((_, index) => hits[index] === Math.min(...hits)));
    const client = seat?.client;
    if (client === undefined) return false;
    this.#hits.set(client.options.dialect, this.#hitsOn(seat) + 1);
    this.#count(kind);
    client.note(`fault: ${kind}`);
    if (kind === 'link cut') {
      gaps.begin(client, 'link cut');
      seat.path.apply({ kind: 'reset' });
    } else if (kind === 'delay') {
      seat.path.apply({ kind: 'delay', delayMs: 100 + random.below(1400), jitterMs: 0, forMs: 3000 });
    } else if (kind === 'black hole') {
      gaps.begin(client, 'black hole');
      seat.path.apply({ kind: 'black-hole', forMs: undefined });
    } else {
      gaps.begin(client, 'superseded');
      const dialect = random.pick(rivalDialects);
      client.note(`the second client comes by ${dialect.name}`);
      const rival = new Rival(client, dialect, serverAddress, (problem) => {
        this.problems.push(`second client by ${dialect.name}: ${problem}\n  ${client.history}`);
      });
      this.#rivals.add(rival);
      void rival.whenOver.then(() => this.#rivals.delete(rival));
    }
    return true;
  }

  #hitsOn({ client }: Seat): number {
    return (client && this.#hits.get(client.options.dialect)) ?? 0;
  }

  #killRouter(moment: RouterMoment): void {
    const { server, seats, gaps } = this.#parts;
    this.#awaited = undefined;
    const pid = server.routerPid;
    if (!killed(pid)) return;
    this.#routerKills += 1;
    this.#count(`router kill (${moment === 'now' ? 'any moment' : `after ${moment}`})`);
    this.kills.push({ at: performance.now(), group: undefined });
    for (const { client } of seats) {
      if (client === undefined) continue;
      client.note(`router ${pid} killed`);
      gaps.begin(client, 'router kill');
    }
    this.#isRecovering = true;
    this.#recovery = this.#recover(pid).finally(() => {
      this.#isRecovering = false;
    });
  }

  async #recover(pid: number): Promise<void> {
    const { server, gaps } = this.#parts;
    const killedAt = performance.now();
    try {
      await eventually('another router listens', () => server.routerPid !== pid, recoveryMsMax);
      await Promise.all(
        modelNames.map(async (model) => {
          await eventually(`${model} is ready again`, () => isReady(server, model), recoveryMsMax);
          gaps.ready(model);
        }),
      );
      this.recoveriesMs.push(performance.now() - killedAt);
    } catch (error) {
      this.problems.push((error as Error).message);
    }
  }
}

function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    // It has died of the last fault.
    return false;
  }
}

/** A group is named after its model, or shared by those that name none. */
function isIn(group: string, model: string): boolean {
  return (
    group.startsWith(`${model}:`) || (group.startsWith('shared') && (model === 'mlp' || model === 'listener_tensors'))
  );
}

async function isReady({ url }: ServerProcess, model: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/v2/models/${model}/ready`, { signal: AbortSignal.timeout(2000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
