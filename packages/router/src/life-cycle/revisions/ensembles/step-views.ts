import { type EnsembleProblem, stepField } from '@millrace/core';
import { InferenceError } from '@millrace/protocol';
import type { ServedModels } from '../../../catalogue/served-models.ts';
import type { EnsembleDefinition } from '../../../model/ensemble-definition.ts';
import type { ModelDefinition, ModelFailure } from '../../../model/model-definition.ts';
import type { ModelView } from '../../../model/model-view.ts';
import { stepProblems } from '../../../repository/kinds/ensemble/check-steps.ts';

/** The models of an ensemble's steps as currently served, or why the ensemble cannot be served. */
export type StepsFound =
  | { readonly kind: 'ready'; readonly views: readonly ModelView[] }
  | { readonly kind: 'loading' | 'failed'; readonly problems: readonly EnsembleProblem[] };

export function findSteps(models: ServedModels, ensemble: ModelView, definition: EnsembleDefinition): StepsFound {
  const views: ModelView[] = [];
  for (const [index, { model: name, version }] of definition.plan.steps.entries()) {
    try {
      views.push(models.mustFind(name, version));
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
      const states = models.statuses().filter((status) => status.name === name);
      const isLoading = states.some((one) => one.state === 'loading' && (version === '' || one.version === version));
      const message = `its step ${JSON.stringify(name)} is not ready: ${error.message}`;
      return { kind: isLoading ? 'loading' : 'failed', problems: [{ field: stepField(index), message }] };
    }
  }
  const problems = stepProblems(definition, ensemble, views);
  return problems.length === 0 ? { kind: 'ready', views } : { kind: 'failed', problems };
}

/** Why the versions of an ensemble cannot be served with the current steps; empty for other models. */
export function stepFailures(models: ServedModels, definition: ModelDefinition): readonly ModelFailure[] {
  const failures: ModelFailure[] = [];
  for (const { version, path, view, ensemble } of definition.versions) {
    const steps = ensemble && findSteps(models, view, ensemble);
    if (steps?.kind !== 'failed') continue;
    const problems = steps.problems.map((problem) => ({ source: path, ...problem }));
    failures.push({ name: definition.name, version, problems });
  }
  return failures;
}

/** The models of an ensemble's steps, each once; empty for other models. */
export function stepNamesOf({ versions }: ModelDefinition): readonly string[] {
  const steps = versions.flatMap(({ ensemble }) => ensemble?.plan.steps ?? []);
  return [...new Set(steps.map(({ model }) => model))];
}
