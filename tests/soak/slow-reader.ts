/**
 * `node tests/dist/soak/slow-reader.js [--gigabytes 10]`: a long stream through a slow reader, down and up, over both
 * versions of HTTP. The server's memory must stay flat: nobody may hold what the other side does not take.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import type { Duplex, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serveHttp } from '@millrace/http';

const pieceBytes = 64 * 1024;
/** The slow side rests after this much. */
const restBytes = 16 * 1024 * 1024;
const restMs = 20;
const growthBytesMax = 64 * 1024 * 1024;
const piece = Buffer.alloc(pieceBytes, 'x');

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, restMs));

async function* pieces(bytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += pieceBytes) yield piece;
}

/** Reads all of it, resting now and then. */
async function takeSlowly(source: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  let awake = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    awake += chunk.length;
    if (awake < restBytes) continue;
    awake = 0;
    await rest();
  }
  return bytes;
}

async function writeAll(target: Writable, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes; sent += pieceBytes) if (!target.write(piece)) await once(target, 'drain');
  target.end();
}

async function serveUntilTold(bytes: number): Promise<void> {
  const server = await serveHttp(async ({ method, body }) => {
    if (method === 'GET') return { status: 200, headers: [], body: pieces(bytes) };
    return { status: 200, headers: [], body: Buffer.from(String(await takeSlowly(body))) };
  });
  process.send?.(server.port);
  process.on('disconnect', () => process.exit(0));
}

function textOf(source: Readable): Promise<string> {
  return source.toArray().then((chunks: Buffer[]) => Buffer.concat(chunks).toString());
}

async function down(port: number, version: string): Promise<number> {
  if (version === '1.1') {
    const call = httpRequest({ host: '127.0.0.1', port }).end();
    const [response] = (await once(call, 'response')) as [Readable];
    return takeSlowly(response);
  }
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const bytes = await takeSlowly(session.request({ ':path': '/' }));
  session.close();
  return bytes;
}

async function up(port: number, version: string, bytes: number): Promise<number> {
  if (version === '1.1') {
    const call = httpRequest({ host: '127.0.0.1', port, method: 'POST' });
    const [[response]] = await Promise.all([once(call, 'response') as Promise<[Readable]>, writeAll(call, bytes)]);
    return Number(await textOf(response));
  }
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const call: Duplex = session.request({ ':path': '/', ':method': 'POST' });
  const [answer] = await Promise.all([textOf(call), writeAll(call, bytes)]);
  session.close();
  return Number(answer);
}

async function soak(gigabytes: number): Promise<void> {
  const bytes = Math.floor((gigabytes * 1e9) / pieceBytes) * pieceBytes;
  let failed = 0;
  for (const version of ['1.1', '2']) {
    for (const way of ['down', 'up']) {
      const child = fork(fileURLToPath(import.meta.url), ['--serve', String(bytes)]);
      const [port] = (await once(child, 'message')) as [number];
      const resident: number[] = [];
      const sampler = setInterval(() => {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        resident.push(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024);
      }, 100);
      const begin = performance.now();
      const moved = way === 'down' ? await down(port, version) : await up(port, version, bytes);
      const seconds = (performance.now() - begin) / 1000;
      clearInterval(sampler);
      child.disconnect();
      const settled = resident.slice(Math.floor(resident.length / 10));
      const growth = Math.max(...settled) - (settled[0] ?? 0);
      const isGood = moved === bytes && growth < growthBytesMax;
      if (!isGood) failed += 1;
      const mebibytes = (value: number): string => `${Math.round(value / 2 ** 20)} MiB`;
      console.log(
        `HTTP/${version} ${way}: ${moved} of ${bytes} bytes in ${seconds.toFixed(1)} s, resident ${mebibytes(Math.min(...settled))} to ${mebibytes(Math.max(...settled))}${isGood ? '' : '  NOT OK'}`,
      );
    }
  }
  console.log(`${4 - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

const { values } = parseArgs({ options: { gigabytes: { type: 'string', default: '10' }, serve: { type: 'string' } } });
if (values.serve === undefined) await soak(Number(values.gigabytes));
else await serveUntilTold(Number(values.serve));
