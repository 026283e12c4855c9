/** The MLP over REST with binary tensors, 64 connections: this server, both lanes, against the naive one. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { firstMatch, startPinned, stopped } from '../pinned-process.ts';
import { programPath, runProgram } from '../run-program.ts';
import type { BenchOptions, OpenScenario, Sample, Scenario } from '../scenario.ts';

const connections = 64;
const millrace = createRequire(import.meta.url).resolve('millrace/bin/millrace.js');

interface Contestant {
  readonly name: string;
  readonly command: readonly string[];
  readonly listening: RegExp;
}

const contestants: readonly Contestant[] = [
  { name: 'naive fastify', command: [programPath('servers/naive-fastify'), mlpPath], listening: /listening on (\d+)/ },
  ...(['local', 'inline'] as const).map((lane) => ({
    name: `millrace, ${lane} lane`,
    command: [
      millrace,
      'serve',
      mlpPath,
      '--http-port',
      '0',
      '--grpc-port',
      '0',
      '--metrics-port',
      '0',
      '--lane',
      lane,
    ],
    listening: /"httpUrl":"http:\/\/127\.0\.0\.1:(\d+)"/,
  })),
];

export const restBinaryScenario: Scenario = {
  name: 'rest-binary',
  title: `REST, binary tensors, MLP, ${connections} connections, all of the server on one core`,
  unit: 'requests/s',
  contestants: contestants.map(({ name }) => name),
  goals: [
    {
      statement: 'local lane at least 1.5x the naive server',
      bound: 1.5,
      isMinimum: true,
      value: (medians) => (medians['millrace, local lane'] as number) / (medians['naive fastify'] as number),
    },
    {
      statement: 'p99 of the local lane below that of the naive server (ratio)',
      bound: 1,
      isMinimum: false,
      value: (medians) =>
        (medians['millrace, local lane p99 ms'] as number) / (medians['naive fastify p99 ms'] as number),
    },
  ],
  open: openScenario,
};

interface RunningContestant {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: string;
  readonly requestPath: string;
}

async function openScenario(options: BenchOptions): Promise<OpenScenario> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const expectPath = join(folder, 'expected');
  writeFileSync(expectPath, await expectedAnswer());
  const servers: RunningContestant[] = [];
  for (const { name, command, listening } of contestants) {
    const child = startPinned(0, process.execPath, command);
    const port = (await firstMatch(child, listening))[1] as string;
    child.stdout?.resume();
    servers.push({ name, child, port, requestPath: writeRequest(folder) });
  }
  const load = (server: RunningContestant, seconds: number): Promise<Record<string, number>> =>
    runProgram(1, 'load/http-load', [
      ...['--port', server.port, '--connections', String(connections), '--seconds', String(seconds)],
      ...['--request', server.requestPath, '--expect', expectPath],
    ]);
  for (const server of servers) await load(server, options.warmupSeconds);
  return {
    measure: async (): Promise<Sample> => {
      const sample: Record<string, number> = {};
      for (const server of servers) {
        const result = await load(server, options.seconds);
        if (result.wrong !== 0) throw new Error(`${server.name} gave ${result.wrong} wrong answers`);
        sample[server.name] = result.requestsPerSecond as number;
        sample[`${server.name} p99 ms`] = result.p99Ms as number;
      }
      return sample;
    },
    close: async () => {
      await Promise.all(servers.map(({ child }) => stopped(child)));
      rmSync(folder, { recursive: true });
    },
  };
}

async function expectedAnswer(): Promise<Uint8Array> {
  const session = await InferenceSession.create(mlpPath);
  const results = await session.run({ input: new Tensor('float32', mlpRows(1), [1, mlpInputs]) });
  const { data } = results[session.outputNames[0] as string] as Tensor;
  return new Uint8Array((data as Float32Array).buffer);
}

/** One request as it goes on the wire, the same for every contestant. */
function writeRequest(folder: string): string {
  const rows = mlpRows(1);
  const header = JSON.stringify({
    inputs: [
      { name: 'input', datatype: 'FP32', shape: [1, mlpInputs], parameters: { binary_data_size: rows.byteLength } },
    ],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(header), Buffer.from(rows.buffer)]);
  const head = [
    'POST /v2/models/model/infer HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/octet-stream',
    `inference-header-content-length: ${header.length}`,
    `content-length: ${body.length}`,
  ];
  const path = join(folder, 'request');
  writeFileSync(path, Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
  return path;
}
