/** What the contract suite needs to know of an implementation. */
import type { Journal, JournalBounds, StreamLog, StreamLogView } from '../journal.ts';

/** The storage of one journal under test, empty at first. */
export interface JournalSubject {
  /** Opens the journal; the one opened before was closed. */
  open(bounds?: Partial<JournalBounds>): Promise<Journal>;
  /** Lets time go by for the journal: by a clock that was passed in, or by waiting. */
  passTime(ms: number): Promise<void>;
  /** Milliseconds since 1970, as the journal sees it. */
  now(): number;
  /** Logs are there when the journal is opened again. */
  readonly isDurable: boolean;
  dispose(): Promise<void>;
}

/** What the tests of the suite share. */
export interface JournalHarness {
  readonly subject: JournalSubject;
  /** The open journal. */
  readonly journal: Journal;
  reopen(bounds?: Partial<JournalBounds>): Promise<Journal>;
}

export const entry = (text: string): Uint8Array => new TextEncoder().encode(text);
export const entriesOf = (...texts: readonly string[]): readonly Uint8Array[] => texts.map(entry);

/** A log in one line: base, snapshot in brackets, entries. */
export function shownLog(log: Pick<StreamLogView, 'base' | 'snapshot' | 'entries'> | undefined): string {
  if (log === undefined) return 'none';
  const text = (bytes: readonly Uint8Array[]): string => bytes.map((one) => new TextDecoder().decode(one)).join(' ');
  return `${log.base} [${text(log.snapshot)}] ${text(log.entries)}`.trimEnd();
}

export async function created(journal: Journal, stream: string, owner = 'a'): Promise<StreamLog> {
  return (await journal.takeOver(stream, owner, { create: true })) as StreamLog;
}

export async function taken(journal: Journal, stream: string, owner = 'b'): Promise<StreamLog> {
  return (await journal.takeOver(stream, owner)) as StreamLog;
}

export function whenFenced(log: StreamLog): Promise<void> {
  return new Promise((resolve) => log.tellWhenFenced({ onFenced: resolve }));
}

/** Resolves true when the owner has been told after everything that is under way in the journal. */
export async function isFenced(journal: Journal, log: StreamLog): Promise<boolean> {
  let isTold = false;
  void whenFenced(log).then(() => {
    isTold = true;
  });
  await journal.list();
  return isTold;
}
