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
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { withProcessorMicros } from '../processor-time.ts';
import { runProgram } from '../run-program.ts';
import type { BenchOptions, OpenScenario, Sample, Scenario } from '../scenario.ts';
import { ratioGoal } from './grpc-load.ts';

const connections = 64;
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
    ratioGoal('local lane at least 3.5x the naive server', 3.5, 'millrace, local lane', 'naive fastify'),
    {
      statement: 'p99 of the local lane below that of the naive server (ratio)',
      bound: 1,
      isMinimum: false,
      value: (medians) =>
        (medians['millrace, local lane p99 ms'] as number) / (medians['naive fastify p99 ms'] as number),
    },
  ],
  open: (options) => openRest(binaryRequest(), [], options),
};

export const restJsonScenario: Scenario = {
  name: 'rest-json',
  title: `REST, tensors as JSON, MLP, ${connections} connections, all of the server on one core`,
  unit: 'requests/s',
  contestants: names,
  goals: [ratioGoal('local lane at least 1.5x the naive server', 1.5, 'millrace, local lane', 'naive fastify')],
  open: (options) => openRest(jsonRequest(), ['--json'], options),
};

async function openRest(
  request: Uint8Array,
  loadArguments: readonly string[],
  options: BenchOptions,
): Promise<OpenScenario> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const expectPath = join(folder, 'expected');
  const requestPath = join(folder, 'request');
  const expected = await expectedOutput(mlpPath, 'input', [1, mlpInputs], mlpRows(1));
  writeFileSync(expectPath, new Uint8Array(expected.data.buffer));
  writeFileSync(requestPath, request);
  const servers = await startContestants(contestants);
  const load = (server: RunningContestant, seconds: number): Promise<Record<string, number>> =>
    runProgram(1, 'load/http-load', [
      ...['--port', String(server.port), '--connections', String(connections), '--seconds', String(seconds)],
      ...['--request', requestPath, '--expect', expectPath, ...loadArguments],
    ]);
  for (const server of servers) await load(server, options.warmupSeconds);
  return {
    measure: async (): Promise<Sample> => {
      const sample: Record<string, number> = {};
      for (const server of servers) {
        const { result, micros } = await withProcessorMicros(
          server.child.pid,
          () => load(server, options.seconds),
          ({ answered }) => answered as number,
        );
        if (result.wrong !== 0) throw new Error(`${server.name} gave ${result.wrong} wrong answers`);
        sample[server.name] = result.requestsPerSecond as number;
        sample[`${server.name} p99 ms`] = result.p99Ms as number;
        if (micros !== undefined) sample[`${server.name} server µs a request`] = micros;
      }
      return sample;
    },
    close: async () => {
      await stopContestants(servers);
      rmSync(folder, { recursive: true });
    },
  };
}

/** A request as it goes on the wire, the same for every contestant. */
function binaryRequest(): Uint8Array {
  const rows = mlpRows(1);
  const header = JSON.stringify({
    inputs: [
      { name: 'input', datatype: 'FP32', shape: [1, mlpInputs], parameters: { binary_data_size: rows.byteLength } },
    ],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(header), Buffer.from(rows.buffer)]);
  return posted(body, ['content-type: application/octet-stream', `inference-header-content-length: ${header.length}`]);
}

function jsonRequest(): Uint8Array {
  const data = Array.from(mlpRows(1));
  const body = JSON.stringify({ inputs: [{ name: 'input', datatype: 'FP32', shape: [1, mlpInputs], data }] });
  return posted(Buffer.from(body), ['content-type: application/json']);
}

function posted(body: Uint8Array, fields: readonly string[]): Uint8Array {
  const head = ['POST /v2/models/model/infer HTTP/1.1', 'host: 127.0.0.1', ...fields, `content-length: ${body.length}`];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}
