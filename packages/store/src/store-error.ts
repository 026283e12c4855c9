/** Errors of stores: the code is for programs, the message for people. */
export type StoreErrorCode =
  | 'key-invalid'
  | 'value-too-large'
  | 'lease-invalid'
  /** The lease ran out or was revoked; what was under it is gone. */
  | 'lease-expired'
  | 'store-closed'
  /** Another process has the store open. */
  | 'store-locked'
  /** Written by a later Millrace in a form that this one does not know. */
  | 'store-newer'
  /** The folder cannot be used: it does not exist, no permission, not a store. */
  | 'store-unusable'
  /** A change could not be made durable; of a metadata store nothing was kept, of a journal it is unknown. */
  | 'store-failed'
  /** The store does not answer, or not in time; whether a change was made is unknown. */
  | 'store-unavailable'
  /** Another owner has taken the log over, or it was removed or has expired. */
  | 'journal-fenced'
  /** A bound of a log or of the whole journal is reached. */
  | 'journal-full'
  /** An entry of a log is not as it was written. */
  | 'journal-damaged';

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
  }
}
