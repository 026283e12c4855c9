/** What a WebSocket is closed with when a request or a stream fails: the error catalogue as close codes (RFC 6455, 7.4). */
import { type ErrorCode, errorCatalogue } from './errors.ts';

/** Where the protocol has a code of its own that says the same. */
const standardCodes: Readonly<Partial<Record<ErrorCode, number>>> = {
  cancelled: 1000,
  draining: 1001,
  forbidden: 1008,
  'request-too-large': 1009,
  internal: 1011,
  'server-full': 1013,
};

/** Codes from 4000 to 4999 are the application's. */
const ownCodesFrom = 4000;

/** The close code of an error: one of the protocol's where it has one, otherwise 4000 and the error's number. */
export function closeCodeOf(code: ErrorCode): number {
  return standardCodes[code] ?? ownCodesFrom + errorCatalogue[code].number;
}
