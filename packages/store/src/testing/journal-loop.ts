/**
 * A process that appends to, trims, takes over and removes logs without end, and says on its standard output what it is about to
 * do and what has been acknowledged: `node journal-loop.js FOLDER process|power [PHASE POINT]`. With a phase and a point it
 * kills itself there in the third transaction of that phase; otherwise a test kills it.
 */
import { writeSync } from 'node:fs';
import type { JournalHost, JournalTable } from '../journal/journal-table.ts';
import { TableJournal } from '../journal/table-journal.ts';
import type { StreamLog } from '../journal.ts';
import { openLmdbJournalHost } from '../lmdb/lmdb-journal.ts';
import type { StoreError } from '../store-error.ts';
import { type KillPoint, type LoopPhase, loopEntry, loopSnapshot, loopStreams } from './journal-entries.ts';

const [path, durability, fatalPhase, fatalPoint] = process.argv.slice(2) as [
  string,
  'process' | 'power',
  LoopPhase?,
  KillPoint?,
];

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Kills the process in a transaction of the fatal phase. */
class FatalHost implements JournalHost {
  readonly #host: JournalHost;
  #phase: LoopPhase | undefined;
  #left = 3;

  constructor(host: JournalHost) {
    this.#host = host;
  }

  enter(phase: LoopPhase): void {
    this.#phase = phase;
  }

  read<T>(action: (table: JournalTable) => T): T {
    return this.#host.read(action);
  }

  commit(action: (table: JournalTable) => void, settle: (error?: StoreError) => void): void {
    if (this.#phase === fatalPhase) this.#left -= 1;
    const point = this.#phase === fatalPhase && this.#left === 0 ? fatalPoint : undefined;
    if (point === 'before') die();
    this.#host.commit(
      (table) => {
        action(point === 'half' ? dyingTable(table) : table);
        if (point === 'inside') die();
      },
      (error) => {
        if (point === 'after') die();
        settle(error);
      },
    );
  }

  close(): Promise<void> {
    return this.#host.close();
  }
}

/** Kills the process after the first change. */
function dyingTable(table: JournalTable): JournalTable {
  return {
    get: (key) => table.get(key),
    put: (key, bytes) => {
      table.put(key, bytes);
      die();
    },
    remove: (key) => {
      table.remove(key);
      die();
    },
    keys: (prefix) => table.keys(prefix),
  };
}

const host = new FatalHost(await openLmdbJournalHost({ path, durability }));
const journal = new TableJournal(host);
const say = (line: string): number => writeSync(1, `${line}\n`);
say('open');
for (let round = 1; ; round++) {
  for (const stream of loopStreams) await useOnce(stream, round);
}

async function useOnce(stream: string, round: number): Promise<void> {
  host.enter('take-over');
  say(`will take ${stream}`);
  const log = (await journal.takeOver(stream, 'loop', { create: true })) as StreamLog;
  say(`took ${stream} ${log.epoch}`);
  let last = log.base + log.entries.length;
  for (let step = 1; step <= 4; step++) {
    host.enter('append');
    const count = 1 + ((round + step) % 3);
    const entries = Array.from({ length: count }, (_, index) => loopEntry(stream, last + index + 1));
    say(`will append ${stream} ${last + count}`);
    // As many appends in flight.
    [, last] = await Promise.all([log.append(entries.slice(0, 1)), log.append(entries.slice(1))]);
    say(`appended ${stream} ${last}`);
  }
  host.enter('trim');
  const to = last - (round % 3);
  say(`will trim ${stream} ${to}`);
  log.trim(to, loopSnapshot(stream, to));
  await log.append([]);
  say(`trimmed ${stream} ${to}`);
  if (round % 4 !== 0) return;
  host.enter('remove');
  say(`will remove ${stream}`);
  await log.close({ remove: true });
  say(`removed ${stream}`);
}
