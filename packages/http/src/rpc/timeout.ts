/** Parses the timeout of a call as each protocol writes it. */

/** The result for a header that cannot be parsed. */
const invalidTimeout = Number.NaN;

const grpcPattern = /^([0-9]{1,8})([HMSmun])$/;
const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
const connectPattern = /^[0-9]{1,10}$/;

/** Milliseconds of a `grpc-timeout`; undefined if there is none. */
export function grpcTimeoutMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = grpcPattern.exec(value);
  return match === null ? invalidTimeout : Number(match[1]) * (unitMs[match[2] as string] as number);
}

/** Milliseconds of a `connect-timeout-ms`; undefined if there is none. */
export function connectTimeoutMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  return connectPattern.test(value) ? Number(value) : invalidTimeout;
}
