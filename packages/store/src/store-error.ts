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
  /** A change could not be made durable; nothing of it was kept. */
  | 'store-failed';

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
  }
}
