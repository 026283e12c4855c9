/**
 * Load in slices, a program of its own so that it can have a core of its own. For each line `PORT MILLISECONDS` on standard input it
 * runs one slice against the server on that port and prints one JSON line. Connections to all servers stay open until standard
 * input ends, so that a slice is steady load from its beginning.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { ClosedLoop } from './closed-loop.ts';
import { endsInFloats, holdsOutput } from './expected-body.ts';
import { GrpcLoop } from './grpc-loop.ts';
import { HttpLoop } from './http-loop.ts';

const { values } = parseArgs({
  options: {
    connections: { type: 'string' },
    /** gRPC: calls in flight on each connection, path, and a file with the body of the call. */
    streams: { type: 'string' },
    path: { type: 'string' },
    body: { type: 'string' },
    /** REST: a file with the whole request, and one with the float32s that every answer must end in; without it the status counts. */
    request: { type: 'string' },
    expect: { type: 'string' },
    /** Answers are JSON: the first of each connection and then one in 64 is compared. */
    json: { type: 'boolean', default: false },
    /** Requests in one write of a connection. */
    pipelined: { type: 'string', default: '1' },
  },
});
const connections = Number(values.connections);
const openLoop = values.request === undefined ? grpcLoops() : httpLoops(values.request);

function grpcLoops(): (port: number) => ClosedLoop {
  const body = readFileSync(values.body ?? '');
  const work = { connections, streams: Number(values.streams), path: values.path ?? '', body };
  return (port) => new GrpcLoop(port, work);
}

function httpLoops(requestPath: string): (port: number) => ClosedLoop {
  const work = {
    connections,
    request: readFileSync(requestPath),
    pipelined: Number(values.pipelined),
    isRight: answerCheck(values.expect),
  };
  return (port) => new HttpLoop(port, work);
}

function answerCheck(expectPath: string | undefined): (body: Buffer, count: number) => boolean {
  if (expectPath === undefined) return () => true;
  const expected = readFileSync(expectPath);
  return values.json
    ? (body, count) => count % 64 !== 0 || holdsOutput(body, expected)
    : (body) => endsInFloats(body, expected);
}

const loops = new Map<number, ClosedLoop>();
for await (const line of createInterface({ input: process.stdin })) {
  const [port, ms] = line.split(' ').map(Number) as [number, number];
  const loop = loops.get(port) ?? openLoop(port);
  loops.set(port, loop);
  process.stdout.write(`${JSON.stringify(await loop.run(ms))}\n`);
}
for (const loop of loops.values()) loop.close();
