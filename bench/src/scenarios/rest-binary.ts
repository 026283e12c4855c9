/** The MLP over REST with binary tensors, 64 connections: this server, both lanes, against the naive one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    command: [millrace, 'serve', mlpPath, '--http-port', '0', '--metrics-port', '0', '--lane', lane],
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
      value: (medians) => (medians['millrace, local lane p99 ms'] as number) / (medians['naive fastify p99 ms'] as number),
    },
  ],
  open: openScenario,
};

async function openScenario(options: BenchOptions): Promise<OpenScenario> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const model = { 'naive fastify': 'mlp' };
  const servers = [];
  for (const { name, command, listening } of contestants) {
    const child = startPinned(0, process.execPath, command);
    const port = (await firstMatch(child, listening))[1] as string;
    child.stdout?.resume();
    servers.push({ name, child, port, request: requestFile(folder, name, name in model ? 'mlp' : 'model') });
  }
  const first = servers[0] as (typeof servers)[number];
  const expected = await answerOf(first.port, first.request.body);
  const expectFile = join(folder, 'expected');
  writeFileSync(expectFile, expected);
  const load = (server: (typeof servers)[number], seconds: number): Promise<Record<string, number>> =>
    runProgram(1, 'load/http-load', [
      ...['--port', server.port, '--connections', String(connections), '--seconds', String(seconds)],
      ...['--request', server.request.path, '--expect', expectFile],
    ]);
  for (const server of servers) await load(server, options.warmupSeconds);
  return {
    measure: async () => {
      const sample: Record<string, number> = {};
      for (const server of servers) {
        const result = await load(server, options.seconds);
        if (result['wrong'] !== 0) throw new Error(`${server.name} gave ${result['wrong']} wrong answers`);
        sample[server.name] = result['requestsPerSecond'] as number;
        sample[`${server.name} p99 ms`] = result['p99Ms'] as number;
      }
      return sample satisfies Sample;
    },
    close: async () => {
      await Promise.all(servers.map(({ child }) => stopped(child)));
      rmSync(folder, { recursive: true });
    },
  };
}

interface RequestFile {
  readonly path: string;
  readonly body: Buffer;
}

function requestFile(folder: string, name: string, model: string): RequestFile {
  const rows = mlpRows(1);
  const header = JSON.stringify({
    inputs: [{ name: 'input', datatype: 'FP32', shape: [1, mlpInputs], parameters: { binary_data_size: rows.byteLength } }],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(header), Buffer.from(rows.buffer)]);
  const head = [
    `POST /v2/models/${model}/infer HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/octet-stream',
    `inference-header-content-length: ${header.length}`,
    `content-length: ${body.length}`,
  ];
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
  const path = join(folder, `request-${name.replaceAll(/\W/g, '-')}`);
  writeFileSync(path, bytes);
  return { path, body: bytes };
}
