/**
 * Measures journals under load: `node packages/store/dist/testing/journal-load.js [FOLDER]`, on Linux. The yardstick writes the
 * same bytes to a file, with one call a turn, without which no entry survives its process. "main" is the processor time that the main
 * thread takes for an entry, its caller included.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writevSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Journal, StreamLog } from '../journal.ts';
import { openLmdbJournal } from '../lmdb/lmdb-journal.ts';
import { openMemoryJournal } from '../memory/memory-journal.ts';

const entry = new Uint8Array(100).fill(7);
const runMs = 3000;
/** A trim each so many entries, as acknowledgements of clients cause them. */
const trimEvery = 100;

interface Load {
  readonly name: string;
  readonly streams: number;
  /** Entries that each stream has in flight. */
  readonly inFlight: number;
  /** Entries per second over all streams; without it as many as go. */
  readonly rate?: number;
}

const loads: readonly Load[] = [
  { name: 'one stream, one in flight', streams: 1, inFlight: 1 },
  { name: 'one stream, flat out', streams: 1, inFlight: 256 },
  { name: '200 streams, flat out', streams: 200, inFlight: 1 },
  { name: '200 streams, 1,000/s', streams: 200, inFlight: 1, rate: 1000 },
];

type Append = (stream: number) => Promise<unknown>;

/** Microseconds that the main thread has run; its id is that of the process. */
function mainMicros(): number {
  const [nanos] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(nanos) / 1000;
}

async function measure(what: string, load: Load, append: Append): Promise<void> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endAt = startedAt + runMs;
  const mainBefore = mainMicros();
  const one = async (stream: number): Promise<void> => {
    const at = performance.now();
    await append(stream);
    latencies.push(performance.now() - at);
  };
  const chain = async (stream: number): Promise<void> => {
    while (performance.now() < endAt) await one(stream);
  };
  if (load.rate === undefined) {
    await Promise.all(Array.from({ length: load.streams * load.inFlight }, (_, index) => chain(index % load.streams)));
  } else {
    const under: Promise<void>[] = [];
    for (let sent = 0; performance.now() < endAt; ) {
      const due = ((performance.now() - startedAt) / 1000) * load.rate;
      for (; sent < due; sent++) under.push(one(sent % load.streams));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(under);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const main = mainMicros() - mainBefore;
  latencies.sort((a, b) => a - b);
  const at = (share: number): string => (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(3);
  const rate = Math.round(latencies.length / seconds).toLocaleString('en');
  const cost = (main / latencies.length).toFixed(2);
  console.log(
    `${what.padEnd(10)} ${load.name.padEnd(26)} ${rate.padStart(9)}/s  p50 ${at(0.5)}  p99 ${at(0.99)} ms  main ${cost} µs`,
  );
}

async function measureJournal(what: string, load: Load, journal: Journal): Promise<void> {
  const names = Array.from({ length: load.streams }, (_, index) => `stream-${index}`);
  const logs = await Promise.all(names.map((name) => journal.takeOver(name, 'bench', { create: true })));
  await measure(what, load, async (stream) => {
    const log = logs[stream] as StreamLog;
    const last = await log.append([entry]);
    if (last % trimEvery === 0) log.trim(last, [entry]);
  });
  await journal.close();
}

async function measureFile(load: Load, folder: string): Promise<void> {
  const file = openSync(join(folder, 'yardstick'), 'w');
  let waiting: (() => void)[] = [];
  const write = (): void => {
    const calls = waiting;
    waiting = [];
    // A call takes at most 1,024 buffers.
    for (let from = 0; from < calls.length; from += 1024) {
      writevSync(
        file,
        Array.from({ length: Math.min(1024, calls.length - from) }, () => entry),
      );
    }
    for (const resolve of calls) resolve();
  };
  await measure('file', load, () => {
    if (waiting.length === 0) setImmediate(write);
    return new Promise<void>((resolve) => waiting.push(resolve));
  });
  closeSync(file);
}

const [parent = tmpdir()] = process.argv.slice(2);
const bounds = { bytesMax: 2 ** 40, logBytesMax: 2 ** 40, logEntriesMax: 2 ** 40 };
for (const load of loads) {
  const folder = mkdtempSync(join(parent, 'millrace-journal-bench-'));
  await measureFile(load, folder);
  await measureJournal('none', load, openMemoryJournal({ bounds }));
  for (const durability of ['process', 'power'] as const) {
    const journal = await openLmdbJournal({ path: join(folder, durability), durability, bounds });
    await measureJournal(durability, load, journal);
  }
  rmSync(folder, { recursive: true, force: true });
}
