/** The latency of one model while the same server loads a large one repeatedly. */
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { millraceServing, startContestants, stopContestants } from '../contestant.ts';
import { canPin, moveTo } from '../pinned-process.ts';
import { processFamily } from '../processor-time.ts';
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { slowRepository } from '../slow.ts';
import { writeTableModel } from '../table-model.ts';

const tableBytes = 500 * 1024 * 1024;
/** Of a run that takes a millisecond: somewhat busy, never queueing for long. */
const ratePerSecond = 200;

/** A load has a process of its own, and so may have a core of its own: on one core it would only show how cores are shared. */
function useAllCores(server: number): void {
  if (!canPin) return;
  const all = `0-${availableParallelism() - 1}`;
  for (const pid of processFamily(server)) moveTo(all, pid);
}

export const neighbourLoadScenario: Scenario = {
  name: 'neighbour-load',
  title: `${ratePerSecond} calls a second of a model that runs 1 ms, left alone and while a model of ${tableBytes / 2 ** 20} MiB is loaded and unloaded beside it`,
  unit: 'ms',
  contestants: ['left alone, p99', 'while another is loaded, p99'],
  goals: [
    {
      statement: 'p99 while another model is loaded at most twice what it is alone',
      bound: 2,
      isMinimum: false,
      value: (medians) => (medians['while another is loaded, p99'] as number) / (medians['left alone, p99'] as number),
    },
  ],
  open: async ({ seconds }) => {
    const repository = slowRepository(1000);
    writeTableModel(repository, 'table', tableBytes);
    const served = millraceServing(repository, 'local');
    const explicit = ['--model-control-mode', 'explicit', '--load-model', 'slow'];
    const servers = await startContestants([{ ...served, command: [...served.command, ...explicit] }]);
    const port = servers[0]?.port as number;
    useAllCores(servers[0]?.child.pid as number);
    const call = async (action: 'load' | 'unload'): Promise<void> => {
      const answer = await fetch(`http://127.0.0.1:${port}/v2/repository/models/table/${action}`, { method: 'POST' });
      if (!answer.ok) throw new Error(`${action}: ${answer.status} ${await answer.text()}`);
    };
    const p99 = async (seed: number): Promise<number> => {
      const load = ['--rate', String(ratePerSecond), '--service-ms', '1', '--seed', String(seed)];
      const figures = await runProgram(1, 'load/infer-load', [
        ...['--port', String(port), '--seconds', String(2 * seconds)],
        ...load,
      ]);
      if ((figures.refusedPerSecond as number) > 0) throw new Error('a call was refused');
      return figures.p99 as number;
    };
    return {
      measure: async (repetition): Promise<Sample> => {
        const alone = await p99(repetition);
        let loads = 0;
        const over = new AbortController();
        const loading = (async () => {
          while (!over.signal.aborted) {
            await call('load');
            await call('unload');
            loads += 1;
          }
        })();
        const beside = await p99(repetition);
        over.abort();
        await loading;
        return { 'left alone, p99': alone, 'while another is loaded, p99': beside, 'loads meanwhile': loads };
      },
      close: async () => {
        await stopContestants(servers);
        rmSync(repository, { recursive: true });
      },
    };
  },
};
