/**
 * The failure policy as data, in the form of gRPC's service config: what is written here can be given to a gRPC client as it
 * is, and the other way round. Durations are texts such as `"0.5s"`.
 */
import { type GrpcStatusName, grpcStatus } from '@millrace/protocol';

export interface MethodName {
  /** Such as `inference.GRPCInferenceService`; absent: every method of every service. */
  readonly service?: string;
  /** Such as `ModelInfer`; absent: every method of the service. */
  readonly method?: string;
}

export interface MethodRetryPolicy {
  /** The first one included; at least 2. As in gRPC, a number above 5 counts as 5. */
  readonly maxAttempts: number;
  readonly initialBackoff: string;
  readonly maxBackoff: string;
  readonly backoffMultiplier: number;
  /** Narrows what the error catalogue allows; absent: all of that. */
  readonly retryableStatusCodes?: readonly GrpcStatusName[];
}

export interface HedgingPolicy {
  /** As for retries: at least 2, and a number above 5 counts as 5. */
  readonly maxAttempts: number;
  /** After this time without an answer the call is sent once more. */
  readonly hedgingDelay: string;
  /** Errors that do not end the other attempts; absent: those that the error catalogue allows to repeat. */
  readonly nonFatalStatusCodes?: readonly GrpcStatusName[];
}

export interface MethodConfig {
  readonly name: readonly MethodName[];
  /** Wait until a server can be reached instead of failing; the deadline still counts. */
  readonly waitForReady?: boolean;
  /** Of all attempts together. A call that names its own deadline has the shorter one. */
  readonly timeout?: string;
  readonly retryPolicy?: MethodRetryPolicy;
  readonly hedgingPolicy?: HedgingPolicy;
}

export interface ServiceConfig {
  readonly methodConfig?: readonly MethodConfig[];
  readonly retryThrottling?: {
    /** From 1 to 1000. */
    readonly maxTokens: number;
    /** What a call that succeeds gives back; above 0. */
    readonly tokenRatio: number;
  };
}

/** What a client does that is told nothing else. */
export const defaultServiceConfig: ServiceConfig = {
  methodConfig: [
    {
      name: [{}],
      retryPolicy: { maxAttempts: 4, initialBackoff: '0.1s', maxBackoff: '2s', backoffMultiplier: 2 },
    },
  ],
  retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
};

/** A method's policy with everything filled in; times in milliseconds. */
export interface MethodPolicy {
  readonly timeoutMs: number;
  readonly waitForReady: boolean;
  readonly attemptsMax: number;
  /** Where more were asked for: what a call that gives up says of that. */
  readonly attemptsNote: string;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffMultiplier: number;
  /** Undefined: whatever the catalogue allows. */
  readonly retryable: ReadonlySet<GrpcStatusName> | undefined;
  /** Infinity: calls are not hedged. */
  readonly hedgingDelayMs: number;
}

export interface ThrottlePolicy {
  readonly tokensMax: number;
  readonly tokenRatio: number;
}

export interface CompiledServiceConfig {
  policyOf(service: string, method: string): MethodPolicy;
  /** Undefined: retries are not throttled. */
  readonly throttle: ThrottlePolicy | undefined;
}

/** gRPC sends no call more often than this, whatever the policy says. */
const attemptsLimit = 5;
const tokensLimit = 1000;

/** Throws a TypeError that names every problem. */
export function compileServiceConfig(config: ServiceConfig): CompiledServiceConfig {
  const problems: string[] = [];
  const policies = new Map<string, MethodPolicy>();
  for (const [index, entry] of (config.methodConfig ?? []).entries()) {
    const policy = policyFrom(entry, `methodConfig[${index}]`, problems);
    for (const { service = '', method = '' } of entry.name) {
      const key = `${service}/${method}`;
      if (service === '' && method !== '')
        problems.push(`methodConfig[${index}].name: method ${method} has no service`);
      else if (policies.has(key)) problems.push(`methodConfig[${index}].name: ${key} is configured twice`);
      else policies.set(key, policy);
    }
  }
  const throttle = throttleFrom(config.retryThrottling, problems);
  if (problems.length > 0) throw new TypeError(`the service config is wrong: ${problems.join('; ')}`);
  return {
    policyOf: (service, method) =>
      policies.get(`${service}/${method}`) ?? policies.get(`${service}/`) ?? policies.get('/') ?? onceOnly,
    throttle,
  };
}

const onceOnly: MethodPolicy = {
  timeoutMs: Number.POSITIVE_INFINITY,
  waitForReady: false,
  attemptsMax: 1,
  attemptsNote: '',
  initialBackoffMs: 0,
  maxBackoffMs: 0,
  backoffMultiplier: 1,
  retryable: undefined,
  hedgingDelayMs: Number.POSITIVE_INFINITY,
};

function policyFrom(entry: MethodConfig, where: string, problems: string[]): MethodPolicy {
  const { retryPolicy: retry, hedgingPolicy: hedging } = entry;
  const policy = {
    ...onceOnly,
    waitForReady: entry.waitForReady ?? false,
    ...(entry.timeout === undefined ? {} : { timeoutMs: msFrom(entry.timeout, `${where}.timeout`, problems) }),
  };
  if (retry !== undefined && hedging !== undefined) {
    problems.push(`${where} has a retryPolicy and a hedgingPolicy; a method has one of them`);
  }
  if (hedging !== undefined) {
    const at = `${where}.hedgingPolicy`;
    return {
      ...policy,
      ...attemptsFrom(hedging.maxAttempts, at, problems),
      retryable: statusesFrom(hedging.nonFatalStatusCodes, `${at}.nonFatalStatusCodes`, problems),
      hedgingDelayMs: msFrom(hedging.hedgingDelay, `${at}.hedgingDelay`, problems, true),
    };
  }
  if (retry === undefined) return policy;
  const at = `${where}.retryPolicy`;
  if (!(retry.backoffMultiplier > 0)) problems.push(`${at}.backoffMultiplier must be above 0`);
  return {
    ...policy,
    ...attemptsFrom(retry.maxAttempts, at, problems),
    initialBackoffMs: msFrom(retry.initialBackoff, `${at}.initialBackoff`, problems),
    maxBackoffMs: msFrom(retry.maxBackoff, `${at}.maxBackoff`, problems),
    backoffMultiplier: retry.backoffMultiplier,
    retryable: statusesFrom(retry.retryableStatusCodes, `${at}.retryableStatusCodes`, problems),
  };
}

function throttleFrom(written: ServiceConfig['retryThrottling'], problems: string[]): ThrottlePolicy | undefined {
  if (written === undefined) return undefined;
  const { maxTokens, tokenRatio } = written;
  if (!(maxTokens > 0 && maxTokens <= tokensLimit)) {
    problems.push(`retryThrottling.maxTokens is ${maxTokens}; it must be above 0 and at most ${tokensLimit}`);
  }
  if (!(tokenRatio > 0)) problems.push(`retryThrottling.tokenRatio is ${tokenRatio}; it must be above 0`);
  return { tokensMax: maxTokens, tokenRatio };
}

function attemptsFrom(
  written: number,
  where: string,
  problems: string[],
): Pick<MethodPolicy, 'attemptsMax' | 'attemptsNote'> {
  if (!Number.isInteger(written) || written < 2) {
    problems.push(`${where}.maxAttempts is ${written}; it must be an integer of at least 2`);
  }
  if (written <= attemptsLimit) return { attemptsMax: written, attemptsNote: '' };
  return { attemptsMax: attemptsLimit, attemptsNote: `, not ${written}: the limit of gRPC` };
}

function statusesFrom(
  written: readonly GrpcStatusName[] | undefined,
  where: string,
  problems: string[],
): ReadonlySet<GrpcStatusName> | undefined {
  for (const name of written ?? []) {
    if (!Object.hasOwn(grpcStatus, name)) problems.push(`${where}: ${JSON.stringify(name)} is no status of gRPC`);
  }
  return written === undefined ? undefined : new Set(written);
}

/** `"0.5s"` in milliseconds. */
function msFrom(text: string, where: string, problems: string[], mayBeZero = false): number {
  const seconds = /^(\d+(?:\.\d{1,9})?)s$/.exec(text)?.[1];
  const ms = Number(seconds) * 1000;
  if (seconds !== undefined && (ms > 0 || mayBeZero)) return ms;
  problems.push(
    `${where} is ${JSON.stringify(text)}; write a number of seconds${mayBeZero ? '' : ' above 0'}, such as "0.5s"`,
  );
  return 0;
}
