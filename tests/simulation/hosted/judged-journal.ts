/** A journal that is watched: what became durable, was trimmed or is found by a take-over passes the referee of its stream. */
import type { Journal, StreamLog } from '@millrace/store';
import type { SimulatedWorld } from '../world/simulated-world.ts';

/** What is told of the log of one stream. */
export interface LogWatcher {
  /** A process has become its owner, and found these entries after the snapshot; the last has this number. */
  takenOver(epoch: number, entries: readonly Uint8Array[], last: number): void;
  durable(entries: readonly Uint8Array[], last: number): void;
  /** It is not known whether entries were added: the process gives the stream up, and whoever comes next takes it over. */
  failed(): void;
  trimmed(snapshot: readonly Uint8Array[], to: number): void;
}

export function judgedJournal(
  journal: Journal,
  world: SimulatedWorld,
  watcherOf: (stream: string) => LogWatcher,
): Journal {
  return {
    peek: (stream) => journal.peek(stream),
    list: () => journal.list(),
    readNote: (name) => journal.readNote(name),
    writeNote: (name, text) => journal.writeNote(name, text),
    usage: () => journal.usage(),
    close: () => journal.close(),
    takeOver: async (stream, owner, options) => {
      const log = await journal.takeOver(stream, owner, options);
      if (log === undefined) return undefined;
      const watcher = watcherOf(stream);
      world.judge(() => watcher.takenOver(log.epoch, log.entries, log.base + log.entries.length));
      return judgedLog(log, world, watcher);
    },
  };
}

function judgedLog(log: StreamLog, world: SimulatedWorld, watcher: LogWatcher): StreamLog {
  return {
    stream: log.stream,
    epoch: log.epoch,
    base: log.base,
    expiresAtMs: log.expiresAtMs,
    idle: log.idle,
    noteIdle: (idle) => log.noteIdle(idle),
    hasShareFor: (bytes) => log.hasShareFor(bytes),
    tellWhenFenced: (listener) => log.tellWhenFenced(listener),
    get snapshot() {
      return log.snapshot;
    },
    get entries() {
      return log.entries;
    },
    append: async (entries, options) => {
      let last: number;
      try {
        last = await log.append(entries, options);
      } catch (error) {
        watcher.failed();
        throw error;
      }
      world.judge(() => watcher.durable(entries, last));
      return last;
    },
    trim: (to, snapshot) => {
      world.judge(() => watcher.trimmed(snapshot, to));
      log.trim(to, snapshot);
    },
    close: (options) => log.close(options),
  };
}
