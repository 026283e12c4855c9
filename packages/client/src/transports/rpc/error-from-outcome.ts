/** How a call ended, as an error of the catalogue: by the details that Millrace sends, otherwise by the status. */
import { MalformedMessage } from '@millrace/protocol';
import { isErrorCode, MillraceError, type MillraceErrorCode } from '../../errors/millrace-error.ts';
import { type RpcDetail, type RpcOutcome, statusCode } from './rpc-call.ts';
import { eachProtoField } from './rpc-outcome.ts';

/** Statuses of gRPC where no code of the catalogue came with them: proxies, and other servers. */
const codesByStatus: readonly MillraceErrorCode[] = [
  'internal', // 0 OK never gets here
  'cancelled',
  'internal',
  'invalid-request',
  'deadline-exceeded',
  'not-found',
  'conflict',
  'forbidden',
  'caller-full',
  'invalid-request',
  'conflict',
  'invalid-request',
  'unsupported',
  'internal',
  'unreachable',
  'internal',
  'forbidden',
];

/** Undefined: the call succeeded. */
export function errorFromOutcome(outcome: RpcOutcome): MillraceError | undefined {
  const { code, message, details, fault } = outcome;
  if (code === statusCode.ok) return undefined;
  if (fault !== undefined) return fault;
  const found: KnownDetails = { code: undefined, retryAfterMs: undefined };
  for (const detail of details) readDetail(detail, found);
  return new MillraceError(found.code ?? codesByStatus[code] ?? 'internal', message, {
    retryAfterMs: found.retryAfterMs,
  });
}

interface KnownDetails {
  code: MillraceErrorCode | undefined;
  retryAfterMs: number | undefined;
}

/** `ErrorInfo` and `RetryInfo`. Details of others are passed over, and so is what cannot be read. */
function readDetail({ type, value: content }: RpcDetail, found: KnownDetails): void {
  try {
    if (type === 'google.rpc.ErrorInfo') {
      const texts = ['', '', ''];
      eachProtoField(content, (number, value) => {
        if (number <= 2 && value instanceof Uint8Array) texts[number] = new TextDecoder().decode(value);
      });
      const [, reason = '', domain] = texts;
      const code = reason.toLowerCase().replaceAll('_', '-');
      if (domain === 'millrace' && isErrorCode(code)) found.code = code;
    } else if (type === 'google.rpc.RetryInfo') {
      eachProtoField(content, (number, value) => {
        if (number === 1 && value instanceof Uint8Array) found.retryAfterMs = durationMs(value);
      });
    }
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
  }
}

function durationMs(bytes: Uint8Array): number {
  let ms = 0;
  eachProtoField(bytes, (number, value) => {
    if (number === 1 && typeof value === 'number') ms += value * 1000;
    else if (number === 2 && typeof value === 'number') ms += value / 1e6;
  });
  return ms;
}
