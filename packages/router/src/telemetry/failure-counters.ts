/** Failures of one model version by code, each bound when it first happens: under overload, refusing must stay cheap. */
import type { ErrorCode } from '@millrace/protocol';
import type { Families, modelMetrics, tritonMetrics } from './metric-table.ts';
import type { Counter } from './series.ts';

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

  constructor(
    failures: Families<typeof modelMetrics>['failures'],
    tritonFailures: Families<typeof tritonMetrics>['failure'],
    model: string,
    version: string,
  ) {
    this.#failures = failures;
    this.#tritonFailures = tritonFailures;
    this.#model = model;
    this.#version = version;
  }

  add(code: ErrorCode): void {
    let bound = this.#bound.get(code);
    if (bound === undefined) {
      bound = {
        byCode: this.#failures.bind(this.#model, this.#version, code),
        byReason: this.#tritonFailures.bind(this.#model, this.#version, tritonReasonOf(code)),
      };
      this.#bound.set(code, bound);
    }
    bound.byCode.add(1);
    bound.byReason.add(1);
  }
}
