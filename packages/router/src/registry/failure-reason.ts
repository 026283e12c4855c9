import { formatConfigProblem } from '@millrace/protocol';
import type { ModelFailure } from './model-definition.ts';

/** Why a model is not there, in one line, for its status. */
export function failureReason(failure: ModelFailure): string {
  return failure.problems.map(formatConfigProblem).join('; ');
}
