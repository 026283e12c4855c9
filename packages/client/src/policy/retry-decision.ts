/** What to do after a failed attempt. Pure: the time and the randomness are arguments. */
import type { MillraceError } from '../errors/millrace-error.ts';
import type { MethodPolicy } from './service-config.ts';

export interface FailedAttempt {
  readonly error: MillraceError;
  /** Attempts so far, this one included, without those that reached no server while waiting for one and those sent again at once. */
  readonly attempts: number;
  /** Whether the call may run twice: a step of a sequence may not. */
  readonly isRepeatable: boolean;
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly isThrottled: boolean;
}

export type RetryDecision =
  /** `counts`: false where the call only waits for a server. */
  | { readonly kind: 'retry'; readonly atMs: number; readonly counts: boolean }
  /** `why`: for the message, where more attempts were allowed. */
  | { readonly kind: 'give-up'; readonly why: string };

/** Between two attempts to reach a server, where the policy has no backoff of its own. */
const waitBackoffMs = 100;
const waitBackoffMaxMs = 2000;

/** Once only, as gRPC's transparent retry: each costs the network and the server something. */
const resendsMax = 1;

/** Whether a call is sent again at once, whatever the policy, because the server did not process it. */
export function mayResend(error: MillraceError, resends: number): boolean {
  return error.isUnprocessed && resends < resendsMax;
}

/** `random` is from 0 to 1. */
export function retryDecision(policy: MethodPolicy, failed: FailedAttempt, random: number): RetryDecision {
  const { error, attempts } = failed;
  const isUnseen = !error.wasSent;
  if (!mayRepeat(policy, failed)) return { kind: 'give-up', why: '' };
  const isWaiting = policy.waitForReady && error.code === 'unreachable' && isUnseen;
  if (!isWaiting && attempts >= policy.attemptsMax) {
    return { kind: 'give-up', why: policy.attemptsMax > 1 ? `after ${attempts} attempts${policy.attemptsNote}` : '' };
  }
  if (failed.isThrottled && !isWaiting) return { kind: 'give-up', why: 'too many calls fail; retries are throttled' };
  const atMs = failed.nowMs + (error.retryAfterMs ?? backoffMs(policy, attempts, random, isWaiting));
  if (atMs >= failed.deadlineMs) return { kind: 'give-up', why: 'the deadline would pass before the next attempt' };
  return { kind: 'retry', atMs, counts: !isWaiting };
}

/** Whether the same call may be sent again, whatever the number of attempts. */
export function mayRepeat(policy: MethodPolicy, { error, isRepeatable }: FailedAttempt): boolean {
  if (policy.retryable !== undefined && !policy.retryable.has(error.status)) return false;
  if (!error.wasSent) return true;
  if (error.code === 'unreachable' && !isRepeatable) return false;
  return error.retry === 'after-backoff' || error.retry === 'other-worker';
}

function backoffMs(policy: MethodPolicy, attempts: number, random: number, isWaiting: boolean): number {
  const initial = policy.initialBackoffMs > 0 ? policy.initialBackoffMs : isWaiting ? waitBackoffMs : 0;
  const max = policy.maxBackoffMs > 0 ? policy.maxBackoffMs : waitBackoffMaxMs;
  const plain = Math.min(max, initial * policy.backoffMultiplier ** Math.min(attempts - 1, 30));
  return plain * (0.8 + 0.4 * random);
}
