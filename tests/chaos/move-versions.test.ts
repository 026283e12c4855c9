import { ModelRepository } from '@millrace/worker/testing';
import { expect, test } from 'vitest';
import { ServerProcess } from '../support/server-process.ts';
import { moveUnderLoad, watchOptions, writeModels } from './move-versions.ts';

test('versions swapped and labels moved under load cost no request its answer, and none is answered by the wrong one', async () => {
  const models = new ModelRepository();
  writeModels(models);
  const server = await ServerProcess.start([models.path, ...watchOptions]);
  try {
    const report = await moveUnderLoad(server, models, { callers: 16, swaps: 4, moves: 40 });
    expect(report.failures).toEqual([]);
    // Every version of the one model, and those that the label stood for.
    expect(report.versionsSeen).toBeGreaterThanOrEqual(5);
  } finally {
    expect(await server.stop()).toBe(0);
    models.remove();
  }
});
