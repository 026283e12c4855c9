/** What the gRPC scenarios under h2load have in common: contestants, one call, a check of its answer, and shapes of load. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Contestant, startContestants, stopContestants } from '../contestant.ts';
import { callOnce } from '../load/grpc-call.ts';
import { type Load, latencies, requestsPerSecond } from '../load/h2load.ts';
import { withProcessorMicros } from '../processor-time.ts';
import type { BenchOptions, Goal, OpenScenario, Sample } from '../scenario.ts';

const grpcFields = ['content-type: application/grpc', 'te: trailers'];

export interface LoadShape {
  readonly connections: number;
  readonly streams: number;
}

export interface GrpcLoad {
  readonly contestants: readonly (Contestant & { readonly isTls?: boolean })[];
  readonly path: string;
  readonly body: Uint8Array;
  readonly shapes: readonly LoadShape[];
  /** Throws when the answer's messages are not what they should be. */
  check(messages: readonly Buffer[]): void;
}

export function shapeName({ connections, streams }: LoadShape): string {
  return `${connections}x${streams}`;
}

/** The name of a figure of requests/s; `… p50 ms`, `… p99 ms` and `… server µs a request` follow from it. */
export function rateName(contestant: string, shape: LoadShape): string {
  return `${contestant}, ${shapeName(shape)}`;
}

/**
 * A bound on the ratio of two rates, and the same bound on what the servers' processor had to do for them: on a machine
 * that others use, the first may be that of the load.
 */
export function ratioGoals(statement: string, bound: number, ours: string, baseline: string, per = 'request'): Goal[] {
  const work = `server µs a ${per}`;
  return [
    {
      statement,
      bound,
      isMinimum: true,
      value: (medians) => (medians[ours] as number) / (medians[baseline] as number),
    },
    {
      statement: `${statement}, by processor time`,
      bound,
      isMinimum: true,
      value: (medians) => (medians[`${baseline} ${work}`] as number) / (medians[`${ours} ${work}`] as number),
    },
  ];
}

/** Every answer is checked before the load and again after it; under load h2load checks only the HTTP status. */
export async function openGrpcLoad(load: GrpcLoad, options: BenchOptions): Promise<OpenScenario> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const bodyPath = join(folder, 'body');
  writeFileSync(bodyPath, load.body);
  const servers = await startContestants(load.contestants);
  const targets = servers.map(({ name, port, child }, index) => {
    const scheme = load.contestants[index]?.isTls === true ? 'https' : 'http';
    return { name, pid: child.pid, origin: `${scheme}://127.0.0.1:${port}` };
  });
  const shaped = (origin: string, shape: LoadShape, seconds: number): Load => ({
    url: `${origin}${load.path}`,
    ...shape,
    seconds,
    bodyPath,
    fields: grpcFields,
  });
  const check = async (): Promise<void> => {
    for (const { origin } of targets) load.check(await callOnce(origin, load.path, load.body));
  };
  try {
    await check();
    for (const { origin } of targets)
      for (const shape of load.shapes) await requestsPerSecond(shaped(origin, shape, options.warmupSeconds));
  } catch (error) {
    await stopContestants(servers);
    throw error;
  }
  return {
    measure: async (): Promise<Sample> => {
      const rates: Record<string, number> = {};
      const times: Record<string, number> = {};
      for (const shape of load.shapes) {
        for (const { name: contestant, origin, pid } of targets) {
          const name = rateName(contestant, shape);
          const { result, micros } = await withProcessorMicros(
            pid,
            () => requestsPerSecond(shaped(origin, shape, options.seconds)),
            (rate) => rate * options.seconds,
          );
          rates[name] = result;
          if (micros !== undefined) times[`${name} server µs a request`] = micros;
          const { p50Ms, p99Ms } = await latencies(shaped(origin, shape, Math.ceil(options.seconds / 4)));
          times[`${name} p50 ms`] = p50Ms;
          times[`${name} p99 ms`] = p99Ms;
        }
      }
      await check();
      return { ...rates, ...times };
    },
    close: async () => {
      await stopContestants(servers);
      rmSync(folder, { recursive: true });
    },
  };
}
