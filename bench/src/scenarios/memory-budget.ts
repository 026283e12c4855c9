/** Ten models where there is memory for four, asked for as names are in real traffic: few of them often, many of them rarely. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { millraceServing, startContestants, stopContestants } from '../contestant.ts';
import { childrenOf, routerBelow } from '../pinned-process.ts';
import { seededRandom } from '../queueing.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { quantile } from '../statistics.ts';
import { writeTableModel } from '../table-model.ts';

const models = 10;
const fitting = 4;
const tableBytes = 100 * 1024 * 1024;
/** A worker that has loaded such a model, as the system counts it, with some room. */
const contextBytes = tableBytes + 90 * 1024 * 1024;
const callers = 8;
const skew = 1.2;

/** The rank of the model that the next request names. */
function zipf(random: () => number): number {
  const weights = Array.from({ length: models }, (_, rank) => 1 / (rank + 1) ** skew);
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  return weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
}

/** Of all processes that the router started. */
function workersResidentBytes(router: number): number {
  let bytes = 0;
  for (const worker of childrenOf(router)) {
    try {
      bytes += Number(readFileSync(`/proc/${worker}/statm`, 'utf8').split(' ')[1]) * 4096;
    } catch {
      // It ended since it was listed.
    }
  }
  return bytes;
}

export const memoryBudgetScenario: Scenario = {
  name: 'memory-budget',
  title: `${models} models of ${tableBytes / 2 ** 20} MiB under a budget for ${fitting}, ${callers} callers, names by Zipf's law (${skew})`,
  unit: 'of the requests',
  contestants: ['made no load necessary', 'failed'],
  goals: [
    {
      statement: 'no request fails',
      bound: 0,
      isMinimum: false,
      value: (medians) => medians.failed as number,
    },
    {
      statement: 'the workers together stay within the budget',
      bound: 1,
      isMinimum: false,
      value: (medians) => medians['most memory, of the budget'] as number,
    },
  ],
  open: async ({ seconds }) => {
    const repository = mkdtempSync(join(tmpdir(), 'millrace-zipf-'));
    for (let rank = 0; rank < models; rank++) writeTableModel(repository, `table_${rank}`, tableBytes);
    const served = millraceServing(repository, 'local');
    const budget = ['--model-memory-budget', String(fitting * contextBytes)];
    const servers = await startContestants([{ ...served, command: [...served.command, ...budget] }]);
    const { port, metricsPort, child } = servers[0] as (typeof servers)[number];
    const infer = async (rank: number): Promise<boolean> => {
      const body = JSON.stringify({ inputs: [{ name: 'row', datatype: 'INT64', shape: [1], data: [rank] }] });
      const url = `http://127.0.0.1:${port}/v2/models/table_${rank}/infer`;
      const answer = await fetch(url, { method: 'POST', body });
      const text = await answer.text();
      if (!answer.ok) process.stderr.write(`table_${rank}: ${answer.status} ${text}\n`);
      return answer.ok;
    };
    const loadsOnDemand = async (): Promise<number> => {
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(/^millrace_demand_loads_total (\d+)$/m.exec(metrics)?.[1]);
    };
    while (!(await fetch(`http://127.0.0.1:${port}/v2/health/ready`)).ok) await setTimeout(100);
    const router = routerBelow(child.pid as number);
    return {
      measure: async (repetition): Promise<Sample> => {
        const random = seededRandom(repetition + 1);
        const endAt = performance.now() + 3 * seconds * 1000;
        let failed = 0;
        const millis: number[] = [];
        let mostBytes = 0;
        const watch = setInterval(() => {
          mostBytes = Math.max(mostBytes, workersResidentBytes(router));
        }, 50);
        const caller = async (): Promise<void> => {
          while (performance.now() < endAt) {
            const begin = performance.now();
            if (!(await infer(zipf(random)))) failed += 1;
            millis.push(performance.now() - begin);
          }
        };
        const loadsBefore = await loadsOnDemand();
        await Promise.all(Array.from({ length: callers }, caller));
        clearInterval(watch);
        const loads = (await loadsOnDemand()) - loadsBefore;
        return {
          'made no load necessary': 1 - loads / millis.length,
          failed: failed / millis.length,
          'most memory, of the budget': mostBytes / (fitting * contextBytes),
          requests: millis.length,
          'loads on demand': loads,
          'median, ms': quantile(millis, 0.5),
          'p99, ms': quantile(millis, 0.99),
        };
      },
      close: async () => {
        await stopContestants(servers);
        rmSync(repository, { recursive: true });
      },
    };
  },
};
