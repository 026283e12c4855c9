/**
 * Bodies in memory that is used again, in a whole server whose free memory is overwritten: every answer has the bytes of its
 * own request, and nothing stays lent.
 */
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { loadLargeBodies } from '../support/large-body-load.ts';
import { metricFrom } from '../support/metrics.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const requests = 3000;
const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  models.copy(join(repositoryRoot, 'tests/models/identity_uint8'));
  server = await ServerProcess.start([models.path, '--memory-poison']);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

test('every caller gets its own bytes back, beside callers that die', { timeout: 240_000 }, async () => {
  const report = await loadLargeBodies(
    { url: server.url, grpcUrl: server.grpcUrl, model: 'identity_uint8' },
    {
      seed: 11,
      requests,
      sizes: [100, 20_000, 64_000, 66_000, 130_000, 600_000, 602_112, 1_100_000],
      callers: 8,
      dyingOneOf: 6,
    },
  );
  expect(report.wrong).toEqual([]);
  expect(report.died).toBeGreaterThan(20);
  expect(report.answered + report.died).toBe(requests);
  const bodyBytes = async (state: string): Promise<number> =>
    metricFrom(await (await fetch(server.metricsUrl)).text(), 'millrace_body_memory_bytes', { state });
  await eventually('all memory of bodies is released', async () => (await bodyBytes('lent')) === 0);
  // Bodies of which a worker reads its inputs are received in the worker's memory; those that found no room there came to the pool.
  await eventually('no body is left in the memory of workers', async () => (await bodyBytes('placed')) === 0);
  expect(await bodyBytes('free')).toBeGreaterThan(0);
});
