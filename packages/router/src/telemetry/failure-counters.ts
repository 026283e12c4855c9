/** Counts the failures of one model version by code, cheaply, because there are many of them under overload. */
import { type ErrorCode, errorCatalogue } from '@millrace/protocol';
import type { Families, modelMetrics, tritonMetrics } from './metric-table.ts';
import type { Counter } from './series.ts';

/** Codes of requests that were refused before the lookup of their model. */
const codesWithoutModel: ReadonlySet<ErrorCode> = new Set([
  'unsupported-media',
  'not-found',
  'method-not-allowed',
  'load-not-allowed',
  'conflict',
]);

/** Codes that only streams end with; a model that serves none has no counters for them. */
export const streamFailureCodes: ReadonlySet<ErrorCode> = new Set([
  'stream-not-found',
  'stream-conflict',
  'stream-superseded',
  'stream-expired',
  'sequence-gap',
  'input-after-end',
  'output-expired',
  'journal-full',
  'journal-unavailable',
  'model-changed',
  'model-unloaded',
  'replay-diverged',
  'too-many-streams',
  'late-input',
]);

export const allFailureCodes = Object.keys(errorCatalogue) as readonly ErrorCode[];
const modelFailureCodes: readonly ErrorCode[] = allFailureCodes.filter(
  (code) => !codesWithoutModel.has(code) && !streamFailureCodes.has(code),
);

export type TritonFailureReason = 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER';

/** Triton's four reasons for the codes of the catalogue. */
const tritonReasons: Readonly<Partial<Record<ErrorCode, TritonFailureReason>>> = {
  'model-not-ready': 'REJECTED',
  'model-full': 'REJECTED',
  'server-full': 'REJECTED',
  'wait-too-long': 'REJECTED',
  'queue-timeout': 'REJECTED',
  'caller-full': 'REJECTED',
  draining: 'REJECTED',
  'deadline-exceeded': 'REJECTED',
  cancelled: 'CANCELED',
  'worker-lost': 'BACKEND',
  'poison-request': 'BACKEND',
  'run-time-limit': 'BACKEND',
  'inference-failed': 'BACKEND',
  'journal-full': 'REJECTED',
  'too-many-streams': 'REJECTED',
  'late-input': 'REJECTED',
  'replay-diverged': 'BACKEND',
};

export function tritonReasonOf(code: ErrorCode): TritonFailureReason {
  return tritonReasons[code] ?? 'OTHER';
}

interface Bound {
  readonly byCode: Counter;
  readonly byReason: Counter;
}

export class FailureCounters {
  readonly #failures: Families<typeof modelMetrics>['failures'];
  readonly #tritonFailures: Families<typeof tritonMetrics>['failure'];
  readonly #model: string;
  readonly #version: string;
  readonly #bound = new Map<ErrorCode, Bound>();

  /** `codes` are shown as 0 from the start, so that `increase()` sees the first failure; others when they first occur. */
  constructor(
    failures: Families<typeof modelMetrics>['failures'],
    tritonFailures: Families<typeof tritonMetrics>['failure'],
    model: string,
    version: string,
    codes: readonly ErrorCode[] = modelFailureCodes,
  ) {
    this.#failures = failures;
    this.#tritonFailures = tritonFailures;
    this.#model = model;
    this.#version = version;
    tritonFailures.bindAll(model, version);
    for (const code of codes) this.#bind(code);
  }

  add(code: ErrorCode): void {
    const bound = this.#bound.get(code) ?? this.#bind(code);
    bound.byCode.add(1);
    bound.byReason.add(1);
  }

  #bind(code: ErrorCode): Bound {
    const bound = {
      byCode: this.#failures.bind(this.#model, this.#version, code),
      byReason: this.#tritonFailures.bind(this.#model, this.#version, tritonReasonOf(code)),
    };
    this.#bound.set(code, bound);
    return bound;
  }
}
