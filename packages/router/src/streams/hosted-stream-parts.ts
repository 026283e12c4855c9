/** What a stream of this router consists of and works with. */
import type { LinkId, StreamMachine } from '@millrace/core';
import type { StreamLog } from '@millrace/store';
import type { FollowedRevision } from './followed-revision.ts';
import type { JournalPauses } from './journal-pauses.ts';
import type { OpeningRecord } from './opening-record.ts';
import type { StreamAlarms } from './stream-alarms.ts';
import type { StreamClock } from './stream-clock.ts';
import type { StreamListenerOfLink } from './stream-gateway.ts';
import type { StreamHoldings } from './stream-holdings.ts';
import type { StreamObserver } from './stream-observer.ts';

export interface HostedStreamParts {
  readonly id: string;
  readonly opening: OpeningRecord;
  /** Memory that it takes beside what it keeps. */
  readonly openingBytes: number;
  readonly expiresAtMs: number;
  readonly log: StreamLog;
  readonly machine: StreamMachine<Uint8Array>;
  /** Of its model. Without a pin the model is gone, and the stream is about to end. */
  readonly revision: FollowedRevision;
  readonly clock: StreamClock;
  readonly alarms: StreamAlarms;
  readonly pauses: JournalPauses;
  readonly observer: StreamObserver;
  readonly memory: StreamHoldings;
  /** Who its memory is charged to; empty: whoever comes first. */
  readonly caller: string;
  readonly warnings: readonly string[];
  /** Left in the journal by an earlier process. */
  readonly isRestored: boolean;
  readonly owner: StreamOwner;
}

export interface StreamOwner {
  /** A stream of the caller runs nothing any more, and does not count as open. */
  onEnded(caller: string): void;
  /** The machine of the stream does nothing more. `isLost`: it is not known what the journal has kept of it. */
  onOver(id: string, isLost: boolean): void;
}

/** A connection of a client, as its stream knows it. */
export interface HostedClient extends StreamListenerOfLink {
  readonly id: LinkId;
  /** Nothing is passed to the client before that; where it fails, the end alone. */
  holdBack(until: Promise<void>): void;
}

/** After these the actions are carried out at the end of the turn. */
export const frequentEvents: ReadonlySet<string> = new Set([
  'step-output',
  'step-done',
  'input',
  'acknowledged',
  'taken',
  'memory',
  'committed',
]);
