/** The deadline that a caller sets on one request: by a header field over REST, by a request parameter on every protocol. */
import { InferenceError, quote } from '@millrace/protocol';

export const timeoutField = 'millrace-timeout-ms';
export const timeoutParameter = 'millrace_timeout_ms';

/** About 24 days. */
export const requestTimeoutMsMax = 2 ** 31 - 1;

/** Throws `invalid-request` if the text is not a deadline in milliseconds; undefined: there is no such field. */
export function timeoutMsFromField(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return checkedTimeoutMs(/^[0-9]{1,10}$/.test(text) ? Number(text) : text, `the ${timeoutField} header`);
}

/** Throws `invalid-request` if the value is not a deadline in milliseconds; undefined: there is no such parameter. */
export function timeoutMsFromParameter(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  return checkedTimeoutMs(typeof value === 'bigint' ? Number(value) : value, `parameter '${timeoutParameter}'`);
}

function checkedTimeoutMs(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= requestTimeoutMsMax) return value;
  throw new InferenceError(
    'invalid-request',
    `${what} must be a whole number of milliseconds from 1 to ${requestTimeoutMsMax}, not ${quote(String(value))}; leave it out for no deadline`,
  );
}

/** The tighter of two limits; undefined: no limit. */
export function tighterMs(left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return Math.min(left, right);
}
