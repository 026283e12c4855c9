/** Durable streams as the configuration asks for them, with the journal that they are kept in. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryLedger } from '@millrace/core';
import { ConfigError } from '@millrace/protocol';
import {
  type EarlierEnd,
  LiveStreamModels,
  ModelExactness,
  type ModelExactnessParts,
  payloadCodec,
  StreamHoldings,
  StreamHost,
  type StreamObserver,
  systemClock,
} from '@millrace/router/internal';
import {
  defaultJournalBounds,
  type Journal,
  LazyJournal,
  openLmdbJournal,
  openMemoryJournal,
  StoreError,
} from '@millrace/store';
import { contentOf, FileDigests, type LastingDigests } from '@millrace/worker/content';
import type { Assembly } from './assemble.ts';
import type { Config } from './config/fields.ts';

export interface StreamsParts {
  readonly config: Pick<Config, 'store' | 'streams'>;
  readonly assembly: Assembly;
  readonly observer: StreamObserver;
  /** That of all requests: what streams keep counts for the same owners. */
  readonly memory: MemoryLedger;
  /** A model was probed before its first stream. */
  readonly onProbed: ModelExactnessParts['onProbed'];
  /** How the router before this one ended. */
  readonly earlierEnd: EarlierEnd;
  /** A private folder that outlives this process; undefined: nobody would look into it after this process. */
  readonly lastingFolder: string | undefined;
  readonly temporaryFolder: string | undefined;
  /** Keeps digests of model files for the next router. */
  readonly readings?: LastingDigests;
}

export interface Streams {
  readonly host: StreamHost;
  readonly journal: Journal;
  /** An earlier process may have left streams: they are taken over before others are opened. */
  readonly hasJournal: boolean;
}

export function openStreams(parts: StreamsParts): Streams {
  const { config, assembly, observer, memory, onProbed, earlierEnd, lastingFolder, temporaryFolder } = parts;
  const { streams, store } = config;
  const folder = store.path !== '' ? join(store.path, 'journal') : lastingFolder && join(lastingFolder, 'journal');
  const journal = new LazyJournal(() => openJournal(streams, folder, temporaryFolder));
  const digests = new FileDigests(undefined, undefined, parts.readings);
  const host = new StreamHost({
    journal,
    models: new LiveStreamModels({
      inference: assembly.dataPlane.inference,
      models: assembly.models,
      digestOf: async (source) => (await contentOf(source, digests)).digest,
      exactness: new ModelExactness({
        inference: assembly.dataPlane.inference,
        codec: payloadCodec,
        clock: systemClock,
        probeMsMax: streams.probeSecondsMax * 1000,
        onProbed,
      }),
    }),
    inference: assembly.dataPlane.inference,
    codec: payloadCodec,
    settings: {
      openMax: streams.openMax,
      openPerCallerMax: streams.openPerCallerMax,
      resumeWindowMs: streams.resumeSeconds * 1000,
      journalWaitMsMax: streams.journalWaitSecondsMax * 1000,
      restoreDeathsMax: streams.restoreDeathsMax,
      lifeMsMax: streams.lifeSecondsMax * 1000,
      drainMsMax: streams.drainSecondsMax * 1000,
      creditMessages: streams.creditMessages,
      creditBytes: streams.creditBytes,
      inputBytesMax: streams.inputBytesMax,
      retainedOutputsMax: streams.retainedOutputsMax,
      retainedBytesMax: streams.retainedBytesMax,
      lateInputs: streams.lateInputs as 'apply' | 'drop' | 'refuse',
      latenessMsMax: streams.latenessSecondsMax === 0 ? Number.POSITIVE_INFINITY : streams.latenessSecondsMax * 1000,
    },
    clock: {
      ...systemClock,
      wallNow: () => Date.now(),
      planeTimeOf: (wallMs) => systemClock.now() + (wallMs - Date.now()),
    },
    observer,
    earlierEnd,
    memory: new StreamHoldings({ ledger: memory, clock: systemClock }),
  });
  return { host, journal, hasJournal: folder !== undefined && existsSync(folder) };
}

async function openJournal(
  { durability, lifeSecondsMax, journalBytesMax, streamBytesMax }: Config['streams'],
  folder: string | undefined,
  temporaryFolder: string | undefined,
): Promise<Journal> {
  const bounds = {
    ...defaultJournalBounds,
    bytesMax: journalBytesMax,
    logBytesMax: streamBytesMax,
    // A stream that has lived its time is still found for a while by those who ask for its end.
    logAgeMsMax: (lifeSecondsMax + 3600) * 1000,
  };
  if (durability === 'none' || folder === undefined) return openMemoryJournal({ bounds });
  try {
    return await openLmdbJournal({
      path: folder,
      durability: durability as 'process' | 'power',
      bounds,
      temporaryFolder,
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ConfigError([{ source: folder, field: 'streams.durability', message: error.message }]);
  }
}
