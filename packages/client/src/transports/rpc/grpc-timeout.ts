/** A value of `grpc-timeout`. At most eight digits: milliseconds, or seconds where that is not enough. */
export function grpcTimeout(timeoutMs: number): string {
  const ms = Math.max(1, Math.ceil(timeoutMs));
  return ms < 1e8 ? `${ms}m` : `${Math.min(99_999_999, Math.ceil(ms / 1000))}S`;
}
