import type { ErrorCode } from '@millrace/protocol';

/** Why a request is not answered. A value, not a throw: refusing must stay cheap when everybody is refused. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** When another attempt may do better, where that can be told. */
  readonly retryAfterMs?: number | undefined;
}
