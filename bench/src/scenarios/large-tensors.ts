/**
 * One caller with a tensor of 600 KB: how far its slowest requests are from its usual ones, soon after the start of a server and once V8
 * has compiled what it runs, and how often the router collects garbage meanwhile. Each run has a server of its own, because servers of the same code differ.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cells, type PreparedCell } from '../comparison/cells.ts';
import { readCoreTimes } from '../comparison/disturbance.ts';
import { SliceLoadProcess } from '../comparison/slice-load-process.ts';
import { millraceServing, startContestants, stopContestants } from '../contestant.ts';
import { type GarbageCounts, GarbageTrace } from '../garbage-trace.ts';
import type { SliceCounts } from '../load/closed-loop.ts';
import { routerBelow } from '../pinned-process.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { median } from '../statistics.ts';

const runs = 10;
const edges = { REST: 'one-caller-image', gRPC: 'one-caller-grpc-image' } as const;
type Edge = keyof typeof edges;
const requestsPerFullCollection = 10_000;
/** From the measurement of a fresh server to that of the same one when V8 compiles next to nothing any more. */
const settleMs = 10_000;

interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Of the measurement after `settleMs`; `fresh` is the one before. */
interface Run extends Latencies, GarbageCounts {
  readonly fresh: Latencies;
  readonly requests: number;
  /** Of both cores, taken by the hypervisor: a run with much of it says nothing about the server. */
  readonly stolenMs: number;
}

const ratioOf = ({ p50Ms, p99Ms }: Latencies): number => p99Ms / p50Ms;

export const largeTensorsScenario: Scenario = {
  name: 'large-tensors',
  title: `One caller, an image of 600 KB, ${runs} fresh servers for each edge, all of the server on one core`,
  unit: 'p50 in ms',
  contestants: Object.keys(edges),
  goals: Object.keys(edges).flatMap((edge) => [
    {
      statement: `${edge}: p99 at most 3x p50 in each of ${runs} runs (largest ratio)`,
      bound: 3,
      isMinimum: false,
      value: (medians) => medians[`${edge} largest p99 / p50`] as number,
    },
    {
      statement: `${edge}: the same of fresh servers`,
      bound: 3,
      isMinimum: false,
      value: (medians) => medians[`${edge} fresh, largest p99 / p50`] as number,
    },
    {
      statement: `${edge}: at most one full collection for ${requestsPerFullCollection} requests`,
      bound: 1,
      isMinimum: false,
      value: (medians) => medians[`${edge} full collections for 10,000 requests`] as number,
    },
    {
      statement: `${edge}: no collection forced by memory outside of the heap`,
      bound: 0,
      isMinimum: false,
      value: (medians) => medians[`${edge} collections forced by external memory`] as number,
    },
  ]),
  open: async ({ seconds, warmupSeconds }) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
    let latest: readonly (readonly [Edge, readonly Run[]])[] = [];
    return {
      measure: async (): Promise<Sample> => {
        const measured: (readonly [Edge, Run[]])[] = [
          ['REST', []],
          ['gRPC', []],
        ];
        for (let run = 0; run < runs; run++) {
          for (const [edge, list] of measured) list.push(await runOnce(edge, folder, warmupSeconds, seconds / 2));
        }
        latest = measured;
        return Object.fromEntries(measured.flatMap(([edge, list]) => figuresOf(edge, list)));
      },
      tables: () =>
        latest.map(([edge, list]) => ({
          title: `${edge}: every run of the last repetition`,
          rows: Object.fromEntries(
            list.map(({ fresh, ...run }, index) => [
              `run ${index + 1}`,
              { ...run, 'p99 / p50': ratioOf(run), 'fresh p50Ms': fresh.p50Ms, 'fresh p99 / p50': ratioOf(fresh) },
            ]),
          ),
        })),
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
};

function figuresOf(edge: Edge, list: readonly Run[]): (readonly [string, number])[] {
  const sum = (numberOf: (run: Run) => number): number => list.reduce((total, run) => total + numberOf(run), 0);
  const perRequest = requestsPerFullCollection / sum(({ requests }) => requests);
  return [
    [edge, median(list.map(({ p50Ms }) => p50Ms))],
    [`${edge} p99 ms`, median(list.map(({ p99Ms }) => p99Ms))],
    [`${edge} largest p99 / p50`, Math.max(...list.map(ratioOf))],
    [`${edge} runs with p99 above 3x p50`, list.filter((run) => ratioOf(run) > 3).length],
    [`${edge} fresh, p50 ms`, median(list.map(({ fresh }) => fresh.p50Ms))],
    [`${edge} fresh, largest p99 / p50`, Math.max(...list.map(({ fresh }) => ratioOf(fresh)))],
    [`${edge} fresh, runs with p99 above 3x p50`, list.filter(({ fresh }) => ratioOf(fresh) > 3).length],
    [`${edge} full collections for 10,000 requests`, sum(({ fullCollections }) => fullCollections) * perRequest],
    [`${edge} scavenges for 10,000 requests`, sum(({ scavenges }) => scavenges) * perRequest],
    [`${edge} collections forced by external memory`, sum(({ forcedByExternalMemory }) => forcedByExternalMemory)],
  ];
}

async function runOnce(edge: Edge, folder: string, warmupSeconds: number, seconds: number): Promise<Run> {
  const cell = cells.find(({ name }) => name === edges[edge]);
  if (cell === undefined) throw new Error(`no load ${edges[edge]}`);
  const prepared = await cell.prepare(folder);
  const contestant = millraceServing(cell.modelPath, 'local');
  const [server] = await startContestants([{ ...contestant, command: ['--trace-gc', ...contestant.command] }]);
  if (server === undefined) throw new Error('the server did not start');
  try {
    await prepared.checkAnswer?.(server.port);
    return await loadOnce(prepared, server.port, warmupSeconds, seconds, () => {
      return new GarbageTrace(server.child.stdout, routerBelow(server.child.pid as number));
    });
  } finally {
    await stopContestants([server]);
  }
}

async function loadOnce(
  { loadArguments }: PreparedCell,
  port: number,
  warmupSeconds: number,
  seconds: number,
  trace: () => GarbageTrace,
): Promise<Run> {
  const load = new SliceLoadProcess(loadArguments);
  try {
    await load.run(port, warmupSeconds * 1000);
    const fresh = latenciesOf(await load.run(port, seconds * 1000));
    await load.run(port, settleMs);
    const garbage = trace();
    const stolenMs = readCoreTimes().stolenMs;
    const counts = await load.run(port, seconds * 1000);
    const stolen = readCoreTimes().stolenMs - stolenMs;
    // What is printed is on its way.
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { ...latenciesOf(counts), fresh, requests: counts.answered, stolenMs: stolen, ...garbage.counts() };
  } finally {
    await load.stop();
  }
}

function latenciesOf({ p50Ms = Number.NaN, p99Ms = Number.NaN }: SliceCounts): Latencies {
  return { p50Ms, p99Ms };
}
