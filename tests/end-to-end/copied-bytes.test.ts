/**
 * How often the router copies the tensors of a large request: at most once on their way to the worker, and never on their way
 * back. Everything that copies bytes in JavaScript is counted; what the kernel copies between sockets and memory is not.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { takeFramedReads } from '@millrace/shared-memory';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LargeBodyTarget, loadLargeBodies } from '../support/large-body-load.ts';
import { repositoryRoot } from '../support/repository-root.ts';

const bytes = 602_112;
const requests = 40;
/** Heads, frames and small pieces. */
const uncountedBytesMax = 4096;

/** Runs in the router before its own code: counts the bytes that are copied, and says how many over the IPC channel. */
const counter = `data:text/javascript,${encodeURIComponent(`
  let copied = 0;
  const count = (bytes) => { if (bytes > ${uncountedBytesMax}) copied += bytes; };
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
  const replace = (owner, name, bytesOf) => {
    const original = owner[name];
    owner[name] = function (...given) {
      const result = original.apply(this, given);
      count(bytesOf(result, given, this));
      return result;
    };
  };
  replace(typedArray, 'set', (_, [source]) => source.byteLength ?? source.length);
  replace(typedArray, 'slice', (made) => made.byteLength);
  replace(typedArray, 'copyWithin', (_, __, array) => array.byteLength);
  replace(Buffer.prototype, 'copy', (bytes) => bytes);
  replace(Buffer, 'concat', (made) => made.length);
  replace(Buffer, 'from', (made, [source]) => source instanceof ArrayBuffer ? 0 : made.length);
  replace(Uint8Array, 'from', (made) => made.length);
  process.on('message', () => process.send(copied));
  process.channel.unref();
`)}`;

const models = new ModelRepository();
let server: ChildProcess;
let target: LargeBodyTarget;

beforeAll(async () => {
  models.copy(join(repositoryRoot, 'tests/models/identity_uint8'));
  server = spawn(
    process.execPath,
    [
      ...['--import', counter, join(repositoryRoot, 'packages/millrace/bin/millrace.js'), 'serve'],
      ...[models.path, '--no-supervise', '--log-format', 'json'],
      ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
    ],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  let url: string | undefined;
  let grpcUrl: string | undefined;
  const isReady = async (): Promise<boolean> =>
    url !== undefined && (await fetch(`${url}/v2/health/ready`)).status === 200;
  for await (const line of createInterface({ input: server.stdout as Readable })) {
    url ??= /"httpUrl":"([^"]+)"/.exec(line)?.[1];
    grpcUrl ??= /"grpcUrl":"([^"]+)"/.exec(line)?.[1];
    if (grpcUrl !== undefined && line.includes('"message":"model ready"')) break;
  }
  while (!(await isReady()));
  target = { url: url as string, grpcUrl: grpcUrl as string, model: 'identity_uint8' };
});

afterAll(async () => {
  server.kill('SIGTERM');
  await once(server, 'exit');
  models.remove();
});

async function copiedSoFar(): Promise<number> {
  server.send('count');
  const [copied] = (await once(server, 'message')) as [number];
  return copied;
}

/** Bytes copied for each byte of a tensor, in both directions together: the model gives back what it gets. */
async function copiesWith(restShare: number): Promise<number> {
  const load = { seed: 3, sizes: [bytes], callers: 1, dyingOneOf: Number.POSITIVE_INFINITY, restShare };
  await loadLargeBodies(target, { ...load, requests: 3 });
  const before = await copiedSoFar();
  const { answered, wrong } = await loadLargeBodies(target, { ...load, requests });
  expect([answered, wrong]).toEqual([requests, []]);
  return ((await copiedSoFar()) - before) / requests / bytes;
}

test('a tensor over gRPC is read from the frames where the worker reads it, but for its beginning', async () => {
  const copies = await copiesWith(0);
  // Elsewhere bodies are copied out of their frames once.
  expect(copies).toBeLessThan(takeFramedReads() === undefined ? 1.05 : 0.5);
  // The counter counts: without this, it could be broken.
  expect(copies).toBeGreaterThan(0.05);
});

test('a tensor over REST is read from the socket where the worker reads it, but for its beginning', async () => {
  expect(await copiesWith(1)).toBeLessThan(0.5);
});
