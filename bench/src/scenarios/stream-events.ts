/**
 * Durable streams as server-sent events, against a loop in fastify that writes the same events. What the model does is not compared:
 * the time of our worker is a figure of its own, and what the loop takes to make its outputs, about 0.1 µs each, is not taken off it.
 */
import { rmSync } from 'node:fs';
import { type RunningContestant, startContestants, stopContestants } from '../contestant.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { chunkOutput, generateJson, httpStreamPath, lastOutput, outputEvent } from '../stream-messages.ts';
import { streamRepository } from '../stream-repository.ts';
import { ratioGoals } from './grpc-load.ts';
import {
  journaled,
  type MeasuredOutputs,
  measureOutputsWithoutModel,
  streamContestants,
  unjournaled,
  warmUpOutputs,
} from './stream-outputs.ts';

const count = 20_000;
const baseline = 'fastify';

/** The events with outputs have the same bytes, whoever sends them. */
async function checkEvents({ name, port }: RunningContestant): Promise<void> {
  const checked = 300;
  const response = await fetch(`http://127.0.0.1:${port}${httpStreamPath}`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    body: generateJson(checked),
  });
  const events = (await response.text()).split(/(?<=\n\n)/).filter((event) => event.startsWith('event: output\n'));
  for (let index = 0; index <= checked; index++) {
    const expected = outputEvent(index < checked ? chunkOutput(index + 1) : lastOutput(checked + 1));
    if (events[index] !== expected) throw new Error(`event ${index + 1} of ${name} is ${events[index]}`);
  }
}

export const streamEventsScenario: Scenario = {
  name: 'stream-events',
  title: `Durable streams as server-sent events over HTTP/1.1, ${count} outputs to one input (a pipeline in a worker), one stream at a time; all of the server on one core, processor time of the worker apart`,
  unit: 'outputs/s',
  contestants: [baseline, journaled, unjournaled],
  goals: ratioGoals('without a journal at least as fast as a loop in fastify', 1, unjournaled, baseline, 'output'),
  open: async (options) => {
    const repository = streamRepository();
    const servers = await startContestants(streamContestants(baseline, 'fastify-events', repository));
    const load = (server: RunningContestant, seconds: number): Promise<MeasuredOutputs> =>
      measureOutputsWithoutModel(server, server.name, 'load/event-load', [
        ...['--seconds', String(seconds), '--count', String(count)],
      ]);
    for (const server of servers) {
      await checkEvents(server);
      await warmUpOutputs(() => load(server, options.warmupSeconds));
    }
    return {
      measure: async (): Promise<Sample> => {
        let sample: Sample = {};
        for (const server of servers) sample = { ...sample, ...(await load(server, options.seconds)).sample };
        return sample;
      },
      close: async () => {
        await stopContestants(servers);
        rmSync(repository, { recursive: true });
      },
    };
  },
};
