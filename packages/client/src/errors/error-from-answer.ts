/** Errors as each protocol says them, as one class. Statuses count only where the code of the catalogue is missing. */
import { closeCodeOf, type ErrorCode, errorCatalogue } from '@millrace/protocol';
import { isErrorCode, MillraceError, type MillraceErrorCode } from './millrace-error.ts';

/** The code in `millrace-error-code`, or by the status where something else than Millrace answered. */
export function errorFromHttp(
  status: number,
  code: string | null,
  message: string,
  retryAfter: string | null,
): MillraceError {
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return new MillraceError(code !== null && isErrorCode(code) ? code : codeOfHttpStatus(status), message, {
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  });
}

/** What proxies and load balancers say. */
function codeOfHttpStatus(status: number): MillraceErrorCode {
  if (status === 404) return 'not-found';
  if (status === 405) return 'method-not-allowed';
  if (status === 413) return 'request-too-large';
  if (status === 401 || status === 403) return 'forbidden';
  if (status === 429) return 'caller-full';
  if (status === 502 || status === 503 || status === 504 || status === 408) return 'unreachable';
  return status >= 500 ? 'internal' : 'invalid-request';
}

/** Close codes that stand for a lost connection: 1001 is sent when a server leaves, 1006 is never sent. */
const lostCodes = new Set([1000, 1001, 1005, 1006, 1012, 1013]);

/** A WebSocket that was closed before `ended`. The reason begins with the code, as far as its 123 bytes reach. */
export function errorFromClose(closeCode: number, reason: string, wasOpen: boolean): MillraceError {
  const named = /^([a-z-]+): (.*)$/s.exec(reason);
  const [, name = '', text = ''] = named ?? [];
  const byNumber = codesByClose.get(closeCode);
  if (isErrorCode(name) && (byNumber === name || closeCodeOf(name) === closeCode)) return new MillraceError(name, text);
  if (byNumber !== undefined && !lostCodes.has(closeCode)) {
    return new MillraceError(byNumber, reason === '' ? `the server closed the connection with ${byNumber}` : reason);
  }
  const what = wasOpen ? 'the connection was closed' : 'the connection could not be opened';
  return new MillraceError(
    'unreachable',
    `${what} (WebSocket code ${closeCode}${reason === '' ? '' : `: ${reason}`})`,
    {
      wasSent: wasOpen,
    },
  );
}

const codesByClose: ReadonlyMap<number, ErrorCode> = /* @__PURE__ */ new Map(
  (Object.keys(errorCatalogue) as ErrorCode[]).map((code) => [closeCodeOf(code), code]),
);
