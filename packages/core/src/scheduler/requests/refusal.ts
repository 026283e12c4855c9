import type { ErrorCode } from '@millrace/protocol';

/** Why a request is not answered. A value, not a throw: refusing must stay cheap under overload. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** When a retry may succeed, if that can be told. */
  readonly retryAfterMs?: number | undefined;
  /** A worker died by itself while it ran the request and nothing else. */
  readonly hasKilledWorker?: true;
}
