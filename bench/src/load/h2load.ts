/**
 * h2load as the load on core 1. Rates come from runs without a log, percentiles from a short run of their own that
 * writes one, since writing a line for each of a hundred thousand requests a second would slow the load down.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPinned } from '../pinned-process.ts';
import { quantile } from '../statistics.ts';

/** How long after its time h2load may still wait for answers before it counts as stuck. */
const overdueSeconds = 20;

export interface Load {
  readonly url: string;
  readonly connections: number;
  /** Requests in flight on each connection. */
  readonly streams: number;
  readonly seconds: number;
  /** A file with the request's body, and the fields that go with it. */
  readonly bodyPath: string;
  readonly fields: readonly string[];
  /** Over HTTP/1.1 instead, one request at a time on each connection. */
  readonly isHttp1?: boolean;
}

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Requests answered a second; throws when any of them failed. */
export async function requestsPerSecond(load: Load): Promise<number> {
  return rateFrom(await runH2load(load, []));
}

export async function latencies(load: Load): Promise<Latencies> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-h2load-'));
  try {
    const logPath = join(folder, 'log');
    rateFrom(await runH2load(load, [`--log-file=${logPath}`]));
    return latenciesFrom(readFileSync(logPath, 'latin1'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Parses what h2load prints. It checks only the HTTP status: the scenario's own calls check the answers. */
export function rateFrom(text: string): number {
  const rate = /finished in [^,]+, ([\d.]+) req\/s/.exec(text);
  const requests = /(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/.exec(text);
  const statuses = /status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/.exec(text);
  if (rate === null || requests === null || statuses === null) throw new Error(`unexpected output of h2load:\n${text}`);
  const bad = [...requests.slice(3), ...statuses.slice(2)].reduce((sum, count) => sum + Number(count), 0);
  if (bad > 0 || Number(requests[2]) === 0) throw new Error(`h2load had failures:\n${text}`);
  return Number(rate[1]);
}

/** From h2load's log: a line a request with its begin, its status and its microseconds. */
export function latenciesFrom(log: string): Latencies {
  const millis: number[] = [];
  for (const line of log.split('\n')) {
    const micros = line.split('\t')[2];
    if (micros !== undefined) millis.push(Number(micros) / 1000);
  }
  return { p50Ms: quantile(millis, 0.5), p99Ms: quantile(millis, 0.99) };
}

async function runH2load(load: Load, more: readonly string[]): Promise<string> {
  const child = startPinned(1, 'h2load', [
    ...['-c', String(load.connections), '-m', String(load.streams), '-D', String(load.seconds)],
    ...load.fields.flatMap((field) => ['-H', field]),
    ...['-d', load.bodyPath, ...(load.isHttp1 === true ? ['--h1'] : [])],
    ...more,
    load.url,
  ]);
  let text = '';
  child.stdout?.setEncoding('utf8');
  child.stdout?.on('data', (chunk: string) => {
    text += chunk;
  });
  const overdue = setTimeout(() => child.kill('SIGKILL'), (load.seconds + overdueSeconds) * 1000);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(overdue);
  if (code !== 0) throw new Error(`h2load ended with ${code}:\n${text}`);
  return text;
}
