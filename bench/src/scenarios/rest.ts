/** The MLP over REST, 64 connections, tensors binary or as JSON: this server, both lanes, against the naive one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  benchServer,
  millraceServing,
  type RunningContestant,
  startContestants,
  stopContestants,
} from '../contestant.ts';
import { expectedOutput } from '../expected-output.ts';
import { type Load, latencies, requestsPerSecond } from '../load/h2load.ts';
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { withProcessorMicros } from '../processor-time.ts';
import { runProgram } from '../run-program.ts';
import type { BenchOptions, OpenScenario, Sample, Scenario } from '../scenario.ts';
import { ratioGoals } from './grpc-load.ts';

const connections = 64;
const path = '/v2/models/model/infer';
/** Of load whose answers are checked, after each measurement. */
const checkSeconds = 0.2;
const contestants = [
  benchServer('naive fastify', 'naive-fastify', [mlpPath]),
  millraceServing(mlpPath, 'local'),
  millraceServing(mlpPath, 'inline'),
];
const names = contestants.map(({ name }) => name);

export const restBinaryScenario: Scenario = {
  name: 'rest-binary',
  title: `REST, binary tensors, MLP, ${connections} connections, all of the server on one core`,
  unit: 'requests/s',
  contestants: names,
  goals: [
    ...ratioGoals('local lane at least 3.5x the naive server', 3.5, 'millrace, local lane', 'naive fastify'),
    {
      statement: 'p99 of the local lane below that of the naive server (ratio)',
      bound: 1,
      isMinimum: false,
      value: (medians) =>
        (medians['millrace, local lane p99 ms'] as number) / (medians['naive fastify p99 ms'] as number),
    },
  ],
  needs: ['h2load'],
  open: (options) => openRest(binaryRequest(), options),
};

export const restJsonScenario: Scenario = {
  name: 'rest-json',
  title: `REST, tensors as JSON, MLP, ${connections} connections, all of the server on one core`,
  unit: 'requests/s',
  contestants: names,
  goals: ratioGoals('local lane at least 1.5x the naive server', 1.5, 'millrace, local lane', 'naive fastify'),
  needs: ['h2load'],
  open: (options) => openRest(jsonRequest(), options),
};

interface RestRequest {
  readonly body: Uint8Array;
  readonly fields: readonly string[];
  readonly isJson: boolean;
}

/** Rates come from h2load, which a server has to be very fast to keep waiting; answers are checked by a load of our own. */
async function openRest(request: RestRequest, options: BenchOptions): Promise<OpenScenario> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const [expectPath, requestPath, bodyPath] = ['expected', 'request', 'body'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const expected = await expectedOutput(mlpPath, 'input', [1, mlpInputs], mlpRows(1));
  writeFileSync(expectPath, new Uint8Array(expected.data.buffer));
  writeFileSync(requestPath, wholeRequest(request));
  writeFileSync(bodyPath, request.body);
  const servers = await startContestants(contestants);
  const check = async ({ name, port }: RunningContestant, seconds: number): Promise<void> => {
    const { wrong } = await runProgram(1, 'load/http-load', [
      ...['--port', String(port), '--connections', String(connections), '--seconds', String(seconds)],
      ...['--request', requestPath, '--expect', expectPath, ...(request.isJson ? ['--json'] : [])],
    ]);
    if (wrong !== 0) throw new Error(`${name} gave ${wrong} wrong answers`);
  };
  const shaped = ({ port }: RunningContestant, seconds: number): Load => ({
    url: `http://127.0.0.1:${port}${path}`,
    connections,
    streams: 1,
    seconds,
    bodyPath,
    fields: request.fields,
    isHttp1: true,
  });
  for (const server of servers) await check(server, options.warmupSeconds);
  return {
    measure: async (): Promise<Sample> => {
      const sample: Record<string, number> = {};
      for (const server of servers) {
        const { result, micros } = await withProcessorMicros(
          server.child.pid,
          () => requestsPerSecond(shaped(server, options.seconds)),
          (rate) => rate * options.seconds,
        );
        sample[server.name] = result;
        const { p50Ms, p99Ms } = await latencies(shaped(server, Math.ceil(options.seconds / 4)));
        sample[`${server.name} p50 ms`] = p50Ms;
        sample[`${server.name} p99 ms`] = p99Ms;
        if (micros !== undefined) sample[`${server.name} server µs a request`] = micros;
        await check(server, checkSeconds);
      }
      return sample;
    },
    close: async () => {
      await stopContestants(servers);
      rmSync(folder, { recursive: true });
    },
  };
}

function binaryRequest(): RestRequest {
  const rows = mlpRows(1);
  const header = JSON.stringify({
    inputs: [
      { name: 'input', datatype: 'FP32', shape: [1, mlpInputs], parameters: { binary_data_size: rows.byteLength } },
    ],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(header), Buffer.from(rows.buffer)]);
  const fields = ['content-type: application/octet-stream', `inference-header-content-length: ${header.length}`];
  return { body, fields, isJson: false };
}

function jsonRequest(): RestRequest {
  const data = Array.from(mlpRows(1));
  const body = JSON.stringify({ inputs: [{ name: 'input', datatype: 'FP32', shape: [1, mlpInputs], data }] });
  return { body: Buffer.from(body), fields: ['content-type: application/json'], isJson: true };
}

/** As it goes on the wire. */
function wholeRequest({ body, fields }: RestRequest): Uint8Array {
  const head = [`POST ${path} HTTP/1.1`, 'host: 127.0.0.1', ...fields, `content-length: ${body.length}`];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}
