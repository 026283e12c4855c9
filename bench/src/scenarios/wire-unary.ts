/** A no-op call of 93 bytes under h2load: this wire layer against node's own, over HTTP/2 and HTTP/1.1. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstMatch, startPinned, stopped } from '../pinned-process.ts';
import { programPath } from '../run-program.ts';
import type { BenchOptions, OpenScenario, Sample, Scenario } from '../scenario.ts';

interface Contestant {
  readonly name: string;
  /** What bench/src/servers/no-op.ts calls it. */
  readonly kind: string;
  readonly load: readonly string[];
}

const oneConnection = ['-c', '1', '-m', '32'];
const eightConnections = ['-c', '8', '-m', '32'];
const http1 = ['--h1', '-c', '64', '-m', '1'];
const contestants: readonly Contestant[] = [
  { name: 'node:http2 1x32', kind: 'node-http2', load: oneConnection },
  { name: 'wire 1x32', kind: 'wire', load: oneConnection },
  { name: 'node:http2 8x32', kind: 'node-http2', load: eightConnections },
  { name: 'wire 8x32', kind: 'wire', load: eightConnections },
  { name: 'seam 8x32', kind: 'seam', load: eightConnections },
  { name: 'node:http 64', kind: 'node-http', load: http1 },
  { name: 'wire HTTP/1.1 64', kind: 'wire', load: http1 },
];

const ratio = (ours: string, theirs: string) => (medians: Sample) =>
  (medians[ours] as number) / (medians[theirs] as number);

export const wireUnaryScenario: Scenario = {
  name: 'wire-unary',
  title: 'No-op calls of 93 bytes under h2load, the server on one core, h2c and HTTP/1.1',
  unit: 'requests/s',
  contestants: contestants.map(({ name }) => name),
  needs: ['h2load'],
  goals: [
    {
      statement: 'at least 5x node:http2 at 8 connections x 32 streams',
      bound: 5,
      isMinimum: true,
      value: ratio('wire 8x32', 'node:http2 8x32'),
    },
    {
      statement: 'at least 4x node:http2 at 1 connection x 32 streams',
      bound: 4,
      isMinimum: true,
      value: ratio('wire 1x32', 'node:http2 1x32'),
    },
    {
      statement: 'no slower than node:http over HTTP/1.1',
      bound: 1,
      isMinimum: true,
      value: ratio('wire HTTP/1.1 64', 'node:http 64'),
    },
  ],
  open: openScenario,
};

async function openScenario(options: BenchOptions): Promise<OpenScenario> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const payload = join(folder, 'payload');
  writeFileSync(payload, Buffer.alloc(93));
  const servers = new Map<string, { child: ChildProcess; port: string }>();
  for (const { kind } of contestants) {
    if (servers.has(kind)) continue;
    const child = startPinned(0, process.execPath, [programPath('servers/no-op'), kind]);
    servers.set(kind, { child, port: (await firstMatch(child, /listening on (\d+)/))[1] as string });
  }
  const load = async ({ name, kind, load }: Contestant, seconds: number): Promise<number> => {
    const address = `http://127.0.0.1:${servers.get(kind)?.port}/inference.GRPCInferenceService/ModelInfer`;
    const fields = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
    const child = startPinned(1, 'h2load', ['-D', String(seconds), ...load, '-d', payload, ...fields, address]);
    const [, rate] = await firstMatch(child, /finished in .*?, ([\d.]+) req\/s[\s\S]*?status codes:.*\n/);
    if (rate === undefined || Number(rate) === 0) throw new Error(`${name} answered nothing`);
    return Number(rate);
  };
  for (const contestant of contestants) await load(contestant, options.warmupSeconds);
  return {
    measure: async () => {
      const sample: Record<string, number> = {};
      for (const contestant of contestants) sample[contestant.name] = await load(contestant, options.seconds);
      return sample;
    },
    close: async () => {
      await Promise.all([...servers.values()].map(({ child }) => stopped(child)));
      rmSync(folder, { recursive: true });
    },
  };
}
