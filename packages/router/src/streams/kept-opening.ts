/** The opening of a stream that is open: encoded again when its log is trimmed, since bytes that are kept for that would be a tenth of an idle stream. */
import type { OpeningEntry } from '@millrace/core';
import { encodeOpening, type OpeningRecord } from './opening-record.ts';

export class KeptOpening implements OpeningEntry<Uint8Array> {
  readonly kind = 'opening' as const;
  readonly expiresAt: number;
  readonly #record: OpeningRecord;
  #payload: Uint8Array | undefined;

  constructor(record: OpeningRecord, expiresAt: number) {
    this.expiresAt = expiresAt;
    this.#record = record;
  }

  get payload(): Uint8Array {
    this.#payload ??= encodeOpening(this.#record);
    return this.#payload;
  }

  /** It is written: the bytes are not needed for now. */
  letBytesGo(): void {
    this.#payload = undefined;
  }
}
