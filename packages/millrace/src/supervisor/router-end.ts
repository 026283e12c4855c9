/** Decides what follows the end of a router: the supervisor ends too, or starts another, now or after a pause. */
import { constants } from 'node:os';
import {
  cleanRestartRecord,
  defaultRestartPolicy,
  type RestartRecord,
  restartAfter,
} from '@millrace/core/restart-policy';

export interface RouterEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It said that it would end, or it was told to. */
  readonly isMeant: boolean;
  /** For how long its ports were open; undefined: it ended before. */
  readonly listenedMs: number | undefined;
}

/** What is remembered of routers between restarts. */
export interface RouterRecord {
  readonly crashes: RestartRecord;
  /** Whether one of them has opened its ports: the configuration can be served. */
  readonly hasListened: boolean;
}

export const newRouterRecord: RouterRecord = { crashes: cleanRestartRecord, hasListened: false };

export type AfterEnd =
  | {
      readonly kind: 'restart';
      readonly cause: 'killed' | 'crashed';
      readonly pauseMs: number;
      readonly record: RouterRecord;
    }
  | { readonly kind: 'end' }
  | { readonly kind: 'give-up'; readonly crashes: number };

/** By these V8, Node.js and the C library end a process in which something went wrong. */
const ownSignals: ReadonlySet<NodeJS.Signals> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGFPE', 'SIGSYS']);
/** These come from either side. A router that has opened its ports was able to run, so it is given the benefit of the doubt. */
const ambiguousSignals: ReadonlySet<NodeJS.Signals> = new Set(['SIGSEGV', 'SIGBUS']);

/** `jitter`, in [0, 1), spreads a pause over its upper half. */
export function afterRouterEnd(end: RouterEnd, before: RouterRecord, jitter: number): AfterEnd {
  if (end.isMeant) return { kind: 'end' };
  const record = { ...before, hasListened: before.hasListened || end.listenedMs !== undefined };
  if (isKill(end)) return { kind: 'restart', cause: 'killed', pauseMs: 0, record };
  // The first router ends with the error that it printed: another would only print it again.
  if (!record.hasListened) return { kind: 'end' };
  const life = { aliveMs: end.listenedMs ?? 0, batchesAnswered: 0 };
  const { record: crashes, pauseMs, isCrashLoop } = restartAfter(before.crashes, life, jitter, defaultRestartPolicy);
  if (isCrashLoop) return { kind: 'give-up', crashes: crashes.deaths };
  return { kind: 'restart', cause: 'crashed', pauseMs: Math.round(pauseMs), record: { ...record, crashes } };
}

function isKill({ signal, listenedMs }: RouterEnd): boolean {
  if (signal === null || ownSignals.has(signal)) return false;
  return !ambiguousSignals.has(signal) || listenedMs !== undefined;
}

/** As shells tell the end of a process: 128 plus the number of the signal, where one ended it. */
export function exitCodeOf({ exitCode, signal }: Pick<RouterEnd, 'exitCode' | 'signal'>): number {
  return exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
