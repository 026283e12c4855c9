/** The router polls for one caller that sends one request after the other, as long as it is configured to. */
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { processorGrant } from 'millrace/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { metricFrom } from '../support/metrics.ts';
import { ServerProcess } from '../support/server-process.ts';

/** Far more than it takes on any machine: eight answers in a row within 10 ms. */
const requestsMax = 5000;
const requestsBetweenScrapes = 50;

const models = new ModelRepository();
beforeAll(() => {
  models.write('plain/1/model.onnx', binaryModel('Add'));
});
afterAll(() => models.remove());

/** Where processor time is limited the router never polls. */
const { hasQuota } = processorGrant();

const one = { datatype: 'FP32' as const, shape: [1, 2], values: [1, 2] };
const inputs = [
  { ...one, name: 'left' },
  { ...one, name: 'right' },
];

async function polls(server: ServerProcess): Promise<number> {
  return metricFrom(await (await fetch(server.metricsUrl)).text(), 'millrace_event_loop_polls_total');
}

/** One after the other, until the router has polled or the requests are used up. */
async function pollsAfter(server: ServerProcess, requests: number): Promise<number> {
  for (let sent = 0; sent < requests; sent++) {
    expect((await inferOverRest(server.url, 'plain', inputs)).status).toBe(200);
    if (sent % requestsBetweenScrapes === requestsBetweenScrapes - 1 && (await polls(server)) > 0) break;
  }
  return polls(server);
}

test('one caller makes the router poll', async () => {
  const server = await ServerProcess.start([models.path, '--poll-micros-max', '10000']);
  const count = await pollsAfter(server, hasQuota ? 100 : requestsMax);
  if (hasQuota) expect(count).toBe(0);
  else expect(count).toBeGreaterThan(0);
  expect(await server.stop()).toBe(0);
}, 120_000);

test('with 0 microseconds the router never polls', async () => {
  const server = await ServerProcess.start([models.path, '--poll-micros-max', '0']);
  expect(await pollsAfter(server, 100)).toBe(0);
  expect(await server.stop()).toBe(0);
}, 120_000);
