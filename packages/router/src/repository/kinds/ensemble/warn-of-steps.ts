import { type EnsembleProblem, stepField } from '@millrace/core';
import type { ConfigProblem } from '@millrace/protocol';
import type { ModelDefinition } from '../../../model/model-definition.ts';
import type { ModelView } from '../../../model/model-view.ts';
import { suggestionFor } from '../../config-text/suggestion.ts';
import { stepProblems } from './check-steps.ts';

/**
 * Mismatches between the ensembles of a repository and the models in it. Warnings, because a model that
 * is missing or does not fit may be fixed while the ensemble stays as it is; its state at run time reports the same.
 */
export function warnOfSteps(models: readonly ModelDefinition[]): readonly ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  for (const { versions } of models) {
    const newest = versions.at(-1);
    if (newest?.ensemble === undefined) continue;
    const missing: EnsembleProblem[] = [];
    const views = newest.ensemble.plan.steps.map(({ model, version }, index): ModelView | undefined => {
      const found = models.find(({ name }) => name === model)?.versions;
      const view = (version === '' ? found?.at(-1) : found?.find((one) => one.version === version))?.view;
      if (view !== undefined) return view;
      const which = version === '' ? JSON.stringify(model) : `version ${version} of ${JSON.stringify(model)}`;
      const names = models.map(({ name }) => name);
      const message = `no ${which} can be served${found === undefined ? suggestionFor(model, names) : ''}`;
      missing.push({ field: `${stepField(index)}.model_name`, message: `${message}; the ensemble waits for it` });
      return undefined;
    });
    for (const problem of [...missing, ...stepProblems(newest.ensemble, newest.view, views)]) {
      warnings.push({ source: newest.path, ...problem });
    }
  }
  return warnings;
}
