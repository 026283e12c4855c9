import { formatConfigProblem, shortened } from '@millrace/protocol';
import type { ModelFailure } from './model-definition.ts';

/** A status lists so many problems; a configuration that came with a load may have thousands, each quoting it. */
const shownMax = 16;
const problemCharactersMax = 512;

/** Why a model is not there, in one line, for its status. */
export function failureReason(failure: ModelFailure): string {
  const { problems } = failure;
  const shown = problems
    .slice(0, shownMax)
    .map((problem) => shortened(formatConfigProblem(problem), problemCharactersMax));
  if (problems.length > shownMax) shown.push(`and ${problems.length - shownMax} more problems`);
  return shown.join('; ');
}
