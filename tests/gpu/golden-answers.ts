/** The models of this repository, which name no device, give their golden answers on a GPU. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { differenceBetween, type GoldenPair, testModelPairs, zooGraphs, zooPairs } from '../support/golden.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import type { Checks } from './checks.ts';
import { differenceMax } from './gpu-model.ts';
import { hasGpuOpen } from './gpu-processes.ts';

export async function checkGoldenAnswers(checks: Checks): Promise<void> {
  const graphs = zooGraphs();
  const folders = [...['tests/models', 'models'].map((folder) => join(repositoryRoot, folder)), graphs.path];
  const server = await ServerProcess.start([...folders, '--strict-readiness=false']);
  try {
    const pairs = [...testModelPairs(), ...zooPairs()];
    await checks.check('the models of this repository answer rightly on the GPU', async () => {
      const problems: string[] = [];
      for (const pair of pairs) problems.push(...(await problemsOf(server, pair)));
      assert.deepEqual(problems, []);
      const pids = server.records.filter(({ message }) => message === 'worker ready').map(({ pid }) => Number(pid));
      const onGpu = pids.filter(hasGpuOpen).length;
      assert.ok(onGpu > 0, `none of the ${pids.length} workers has a GPU open`);
      return `${pairs.length} answers of ${onGpu} workers on a GPU and ${pids.length - onGpu} on the CPU`;
    });
  } finally {
    await server.stop();
    graphs.remove();
  }
}

async function problemsOf(server: ServerProcess, pair: GoldenPair): Promise<readonly string[]> {
  const { model, version, inputs, title } = pair;
  const { status, outputs, error } = await inferOverRest(server.url, model, inputs, { form: 'binary', version });
  const tolerance = Math.max(pair.tolerance, differenceMax);
  const problem = status === 200 ? differenceBetween({ ...pair, tolerance }, outputs) : `${status} ${error}`;
  return problem === undefined ? [] : [`${title}: ${problem}`];
}
