import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import { loadWhile } from './kill-workers.ts';

const answersPerKill = 400;
const killsWanted = 6;

test('workers killed under the load of 64 connections cost no request its answer', async () => {
  const models = new ModelRepository().copy(join(repositoryRoot, 'tests/models/add_sub'), 'add_sub');
  const server = await ServerProcess.start([models.path]);
  try {
    const killed = new Set<number>();
    const report = await loadWhile(server, {
      connections: 64,
      afterAnswer: (answered) => {
        // Enough answers for the next kill, and the worker that replaced the last one is there to be killed.
        const victim = server.workerPids('shared/1').at(-1);
        const isDue = killed.size < killsWanted && answered >= (killed.size + 1) * answersPerKill;
        if (isDue && victim !== undefined && !killed.has(victim)) {
          killed.add(victim);
          process.kill(victim, 'SIGKILL');
        }
        return killed.size === killsWanted && answered >= (killsWanted + 1) * answersPerKill ? 'stop' : 'go-on';
      },
    });
    expect(report.failures).toEqual([]);
    expect(report.answered).toBe(report.sent);
    expect(killed.size).toBe(killsWanted);
    const metrics = await (await fetch(server.metricsUrl)).text();
    expect(metrics).toMatch(new RegExp(`^millrace_worker_restarts_total ${killsWanted}$`, 'm'));
  } finally {
    expect(await server.stop()).toBe(0);
    models.remove();
  }
});
