/** What the contract suite needs to know of an implementation. */
import type { MetadataChange, MetadataEntry, MetadataStore } from '../metadata.ts';

/** The storage of one store under test, empty at first. */
export interface MetadataSubject {
  /** Opens the store; the one opened before was closed. */
  open(): Promise<MetadataStore>;
  /** Lets time go by for the store: by a clock that was passed in, or by waiting. */
  passTime(ms: number): Promise<void>;
  /** What was put is there when the store is opened again. */
  readonly isDurable: boolean;
  dispose(): Promise<void>;
}

/** What the tests of the suite share. */
export interface StoreHarness {
  readonly subject: MetadataSubject;
  /** The open store. */
  readonly store: MetadataStore;
  reopen(): Promise<MetadataStore>;
}

export const valueBytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const valueText = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

export const shownEntry = ({ key, value }: MetadataEntry): string => `${key}=${valueText(value)}`;

/** Keeps what a watch told, in a form that reads well in a failure. */
export class Told {
  readonly lines: string[] = [];
  readonly revisions: number[] = [];

  readonly listener = (change: MetadataChange): void => {
    const { revision } = change.kind === 'put' ? change.entry : change;
    this.revisions.push(revision);
    this.lines.push(change.kind === 'put' ? shownEntry(change.entry) : `${change.key} gone`);
  };
}
