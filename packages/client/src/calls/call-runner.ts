/** Carries the failure policy of unary calls out: attempts one after the other, or side by side, within one deadline. */
import type { ClientClock } from '../client-clock.ts';
import { type CallIdentity, type ClientObserver, callHook } from '../client-observer.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { type FailedAttempt, mayRepeat, mayResend, retryDecision } from '../policy/retry-decision.ts';
import { RetryThrottle } from '../policy/retry-throttle.ts';
import type { CompiledServiceConfig, MethodPolicy } from '../policy/service-config.ts';
import type { AttemptContext, CallTransport, PendingCall } from '../transports/transport.ts';
import type { Endpoints } from './endpoints.ts';
import { type HeaderSource, withHeaders } from './header-source.ts';

export interface CallEnvironment {
  readonly endpoints: Endpoints;
  readonly config: CompiledServiceConfig;
  readonly clock: ClientClock;
  readonly headers: HeaderSource | undefined;
  readonly observe: ClientObserver | undefined;
}

export interface CallDescription<Result> {
  readonly identity: CallIdentity;
  /** Whether it may run twice. */
  readonly isRepeatable: boolean;
  readonly deadlineMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  begin(transport: CallTransport, context: AttemptContext): PendingCall<Result>;
}

export class CallRunner {
  readonly environment: CallEnvironment;
  readonly throttle: RetryThrottle;

  constructor(environment: CallEnvironment) {
    this.environment = environment;
    this.throttle = new RetryThrottle(environment.config.throttle);
  }

  run<Result>(call: CallDescription<Result>): Promise<Result> {
    return new Promise((resolve, reject) => new RunningCall(this, call, resolve, reject).start());
  }
}

/** NaN and texts pass every comparison, or fail it: a deadline of them would be none, or be over at once. */
export function mustBeDeadline(deadlineMs: number | undefined): void {
  if (deadlineMs !== undefined && Number(deadlineMs) !== deadlineMs) {
    throw new TypeError(`deadlineMs is ${String(deadlineMs)}; it must be a number`);
  }
}

type AttemptEnded = (error: MillraceError | undefined) => void;

class RunningCall<Result> {
  readonly #runner: CallRunner;
  readonly #call: CallDescription<Result>;
  readonly #policy: MethodPolicy;
  readonly #resolve: (result: Result) => void;
  readonly #reject: (error: unknown) => void;
  readonly #deadlineMs: number;
  /** Attempts under way, one, or several where the call is hedged, and who hears of their end. */
  readonly #pending = new Map<PendingCall<Result>, AttemptEnded>();
  #attempts = 0;
  /** Those that only waited for a server. */
  #waits = 0;
  /** Those that followed at once on one that the server did not process. */
  #resends = 0;
  #failedEndpoint = -1;
  /** Of the last attempt. */
  #endpoint: string | undefined = undefined;
  #stopDeadline: (() => void) | undefined = undefined;
  #stopNext: (() => void) | undefined = undefined;
  #isOver: boolean = false;

  constructor(
    runner: CallRunner,
    call: CallDescription<Result>,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
  ) {
    const { config, clock } = runner.environment;
    this.#runner = runner;
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
    mustBeDeadline(call.deadlineMs);
    this.#policy = config.policyOf(call.identity.service, call.identity.method);
    const timeoutMs = Math.min(this.#policy.timeoutMs, call.deadlineMs ?? Number.POSITIVE_INFINITY);
    this.#deadlineMs = timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : clock.nowMs() + timeoutMs;
  }

  start(): void {
    const { signal } = this.#call;
    if (signal?.aborted === true) {
      this.#finish(() => this.#reject(signal.reason));
      return;
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#deadlineMs !== Number.POSITIVE_INFINITY) {
      const { clock } = this.#runner.environment;
      this.#stopDeadline = clock.setTimer(this.#deadlineMs - clock.nowMs(), () => this.#onDeadline());
    }
    this.#attempt();
  }

  readonly #onAbort = (): void => {
    this.#finish(() => this.#reject(this.#call.signal?.reason));
  };

  #onDeadline(): void {
    const { identity } = this.#call;
    const attempts = `${this.#attempts} ${this.#attempts === 1 ? 'attempt' : 'attempts'}`;
    const error = new MillraceError(
      'deadline-exceeded',
      `the deadline of ${identity.method} has passed after ${attempts}`,
    );
    this.#fail(error, error);
  }

  /** What the program's headers throw ends the call. A retry is begun by a timer, so that nobody else would hear of it. */
  #attempt(): void {
    withHeaders(
      this.#runner.environment.headers,
      (list) => {
        if (!this.#isOver) this.#send(list);
      },
      this.#onRefused,
    );
  }

  readonly #onRefused = (error: unknown): void => {
    this.#finish(() => this.#reject(error));
  };

  #send(headers: readonly (readonly [string, string])[]): void {
    const { endpoints, clock, observe } = this.#runner.environment;
    const startedMs = clock.nowMs();
    if (startedMs >= this.#deadlineMs) {
      // Timers may fire late, and credentials may take their time: the budget is spent all the same.
      this.#onDeadline();
      return;
    }
    const index = endpoints.choose(this.#failedEndpoint);
    const { calls, url } = endpoints.at(index);
    this.#attempts += 1;
    const attempt = this.#attempts;
    this.#endpoint = url;
    const call = this.#call.identity;
    const pending = this.#call.begin(calls, { timeoutMs: this.#deadlineMs - startedMs, headers });
    callHook(observe, { kind: 'attempt-started', call, attempt, endpoint: url });
    const ended: AttemptEnded = (error) => {
      if (observe === undefined) return;
      const durationMs = clock.nowMs() - startedMs;
      callHook(observe, { kind: 'attempt-ended', call, attempt, endpoint: url, durationMs, error });
    };
    this.#pending.set(pending, ended);
    this.#scheduleHedge();
    pending.result.then(
      (result) => {
        if (!this.#pending.delete(pending)) return;
        endpoints.onAnswer(index);
        this.#runner.throttle.onSuccess();
        ended(undefined);
        this.#finish(() => this.#resolve(result));
      },
      (error: unknown) => {
        if (!this.#pending.delete(pending)) return;
        if (!(error instanceof MillraceError)) {
          ended(stopped(error));
          this.#onRefused(error);
          return;
        }
        error.endpoint = url;
        ended(error);
        if (mayResend(error, this.#resends)) {
          // No failure of the server: neither its circuit nor the throttle learns of it.
          this.#resends += 1;
          this.#failedEndpoint = index;
          this.#attempt();
          return;
        }
        endpoints.onError(index, error);
        this.#onError(error, index);
      },
    );
  }

  #scheduleHedge(): void {
    const { hedgingDelayMs, attemptsMax } = this.#policy;
    const attempts = this.#attempts - this.#resends;
    if (hedgingDelayMs === Number.POSITIVE_INFINITY || attempts >= attemptsMax || !this.#call.isRepeatable) return;
    this.#stopNext?.();
    this.#stopNext = this.#runner.environment.clock.setTimer(hedgingDelayMs, () => {
      if (this.#runner.throttle.isOpen) this.#attempt();
    });
  }

  #onError(error: MillraceError, index: number): void {
    const { clock } = this.#runner.environment;
    const failed: FailedAttempt = {
      error,
      attempts: this.#attempts - this.#waits - this.#resends,
      isRepeatable: this.#call.isRepeatable,
      nowMs: clock.nowMs(),
      deadlineMs: this.#deadlineMs,
      isThrottled: !this.#runner.throttle.isOpen,
    };
    const isTransient = mayRepeat(this.#policy, failed);
    if (isTransient) this.#runner.throttle.onFailure();
    else this.#runner.throttle.onSuccess();
    this.#failedEndpoint = index;
    // Of a hedged call the others are still under way.
    if (isTransient && this.#pending.size > 0) return;
    const decision = retryDecision(this.#policy, failed, clock.random());
    if (decision.kind === 'give-up') {
      this.#fail(decision.why === '' ? error : withReason(error, decision.why));
      return;
    }
    if (!decision.counts) this.#waits += 1;
    this.#stopNext?.();
    this.#stopNext = clock.setTimer(decision.atMs - failed.nowMs, () => this.#attempt());
  }

  #fail(error: MillraceError, ofPending?: MillraceError): void {
    error.attempts = this.#attempts;
    error.endpoint ??= this.#endpoint;
    this.#finish(() => this.#reject(error), ofPending);
  }

  /** `ofPending`: what ended the attempts that are under way; absent: nobody waits for them any more. */
  #finish(settle: () => void, ofPending?: MillraceError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.signal?.removeEventListener('abort', this.#onAbort);
    this.#stopDeadline?.();
    this.#stopNext?.();
    for (const [pending, ended] of this.#pending) {
      this.#pending.delete(pending);
      pending.stop();
      ended(ofPending ?? stopped());
    }
    settle();
  }
}

/** The call is over for another reason than this attempt. */
function stopped(cause?: unknown): MillraceError {
  return new MillraceError('cancelled', 'the attempt was stopped', { cause });
}

function withReason(error: MillraceError, why: string): MillraceError {
  const { code, message, retryAfterMs, wasSent, isUnprocessed } = error;
  const options = { retryAfterMs, wasSent, isUnprocessed, cause: error };
  const told = new MillraceError(code, `${message} (${why})`, options);
  told.endpoint = error.endpoint;
  return told;
}
