/** Whether a model gives a stream the same bits whatever runs beside it, and again after a failure. */
import type { GeneratorProbe } from '@millrace/protocol';

/**
 * - `exact`: alone, in company and rebuilt from a checkpoint it gives the same bits;
 * - `alone`: company changes them, so steps of its streams run alone, and are exact;
 * - `inexact`: the same step gives other bits when it is run again;
 * - `unproven`: the probe failed or took too long. Steps run alone, to be safe.
 */
export type ExactnessVerdict = 'exact' | 'alone' | 'inexact' | 'unproven';

export interface Exactness {
  readonly verdict: ExactnessVerdict;
  /** What was found; for operators. */
  readonly reason: string;
}

/** Of a generator, whose worker probes it at load. */
export function exactnessFrom({ isExact: isSame, findings }: GeneratorProbe): Exactness {
  const reason = findings.join('; ') || 'texts give the same bits alone, in company and repeated';
  return { verdict: isSame ? 'exact' : 'inexact', reason };
}

/** Whether a stream that is resumed goes on as it would have without the failure. */
export function isExact(verdict: ExactnessVerdict): boolean {
  return verdict === 'exact' || verdict === 'alone';
}

/** Whether a step may share a run with other requests. */
export function sharesSteps(verdict: ExactnessVerdict): boolean {
  return verdict === 'exact' || verdict === 'inexact';
}
