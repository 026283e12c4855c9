import { formatConfigProblem, shortened } from '@millrace/protocol';
import type { ModelFailure } from './model-definition.ts';

/** The most problems that a status lists: a configuration sent with a load may have thousands, each quoting it. */
const shownMax = 16;
const problemCharactersMax = 512;

/** Why a model cannot be served, in one line, for its status. */
export function failureReason(failure: ModelFailure): string {
  const { problems } = failure;
  const shown = problems
    .slice(0, shownMax)
    .map((problem) => shortened(formatConfigProblem(problem), problemCharactersMax));
  if (problems.length > shownMax) shown.push(`and ${problems.length - shownMax} more problems`);
  return shown.join('; ');
}
