/** Latency under load and over it: one worker with a run of fixed length, against the queue that costs nothing. */
import { rmSync } from 'node:fs';
import { millraceServing, startContestants, stopContestants } from '../contestant.ts';
import { canPin, childrenOf, moveTo, routerBelow } from '../pinned-process.ts';
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { slowRepository } from '../slow.ts';

const queueRequestsMax = 64;
const load = 0.8;
const overload = 3;
const goodputMin = 0.95;
const refusedMsMax = 5;

export async function withServer(run: (port: number) => Promise<void>): Promise<void> {
  const repository = slowRepository(queueRequestsMax);
  const servers = await startContestants([millraceServing(repository, 'local')]);
  try {
    for (const { child, port } of servers) {
      shareOutCores(routerBelow(child.pid as number));
      await run(port);
    }
  } finally {
    await stopContestants(servers);
    rmSync(repository, { recursive: true });
  }
}

/** The worker has a core for itself; the router, whose work overload multiplies, shares the other with the load. */
function shareOutCores(router: number): void {
  if (!canPin) return;
  moveTo('1', router);
  for (const worker of childrenOf(router)) moveTo('0', worker);
}

export async function measureLoad(
  port: number,
  seconds: number,
  options: readonly string[],
): Promise<Record<string, number>> {
  return runProgram(1, 'load/infer-load', ['--port', String(port), '--seconds', String(seconds), ...options]);
}

/** Calls a second that are answered when there is always one waiting, and the time that leaves each. */
export async function capacityOf(port: number, seconds: number): Promise<{ perSecond: number; serviceMs: number }> {
  const { answeredPerSecond } = await measureLoad(port, seconds, ['--in-flight', '16']);
  return { perSecond: answeredPerSecond as number, serviceMs: 1000 / (answeredPerSecond as number) };
}

export const loadLatencyScenario: Scenario = {
  name: 'load-latency',
  title: `Runs of about 1 ms on one worker by gRPC, arriving at random: at ${load * 100} % of capacity, against an ideal M/D/1 queue with the same arrivals`,
  unit: 'ms',
  contestants: ['millrace, p99', 'ideal, p99'],
  goals: [
    {
      statement: `p99 at ${load * 100} % load at most twice the ideal queue's`,
      bound: 2,
      isMinimum: false,
      value: (medians) => (medians['millrace, p99'] as number) / (medians['ideal, p99'] as number),
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (repetition): Promise<Sample> => {
        const sample: Record<string, number> = {};
        await withServer(async (port) => {
          const { perSecond, serviceMs } = await capacityOf(port, seconds);
          const figures = await measureLoad(port, 2 * seconds, [
            ...['--rate', String(perSecond * load), '--service-ms', String(serviceMs)],
            ...['--seed', String(repetition + 1)],
          ]);
          sample['millrace, p99'] = figures.p99 as number;
          sample['ideal, p99'] = figures.idealP99 as number;
          sample['millrace, median'] = figures.p50 as number;
          sample['ideal, median'] = figures.idealP50 as number;
          sample['a run, with all that belongs to it'] = serviceMs;
        });
        return sample;
      },
      close: () => Promise.resolve(),
    }),
};

export const overloadScenario: Scenario = {
  name: 'overload',
  title: `The same worker with ${overload} times as many calls as it can answer, ${queueRequestsMax} of which may wait`,
  unit: 'answers/s',
  contestants: ['at capacity', 'overloaded'],
  goals: [
    {
      statement: `at ${overload} times the capacity at least ${goodputMin * 100} % of the answers`,
      bound: goodputMin,
      isMinimum: true,
      value: (medians) => (medians.overloaded as number) / (medians['at capacity'] as number),
    },
    {
      statement: `refusals within ${refusedMsMax} ms at the median`,
      bound: refusedMsMax,
      isMinimum: false,
      value: (medians) => medians['refused after, ms (median)'] as number,
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (repetition): Promise<Sample> => {
        const sample: Record<string, number> = {};
        await withServer(async (port) => {
          const { perSecond, serviceMs } = await capacityOf(port, seconds);
          const figures = await measureLoad(port, seconds, [
            ...['--rate', String(perSecond * overload), '--service-ms', String(serviceMs)],
            ...['--seed', String(repetition + 1)],
          ]);
          sample['at capacity'] = perSecond;
          sample.overloaded = figures.answeredPerSecond as number;
          sample['refused, a second'] = figures.refusedPerSecond as number;
          sample['refused after, ms (median)'] = figures.refusedP50 as number;
          sample['answered after, ms (p99)'] = figures.p99 as number;
        });
        return sample;
      },
      close: () => Promise.resolve(),
    }),
};
