/** Which models are loaded before an ensemble, and which may be unloaded after it. */
import type { ModelDefinition } from '../../model/model-definition.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import type { ModelLocations } from '../reading/repository-reader.ts';
import { stepNamesOf } from '../revisions/ensembles/step-views.ts';
import { takeLocation } from './load-location.ts';
import { stepOrderOf } from './step-order.ts';

/**
 * Loads the models that an ensemble needs, those that others need first; does nothing for other models. `loadStep`
 * resolves to why a model cannot be loaded, empty when it is. Returns all problems.
 */
export async function loadStepsOf(
  ensemble: ModelLocation,
  locations: ModelLocations,
  loadStep: (name: string) => Promise<string>,
): Promise<readonly string[]> {
  const { models, ensembles, circle } = await stepOrderOf(ensemble, (step) => takeLocation(locations, step));
  if (circle.length > 0) {
    return [`it contains itself (${circle.join(', which contains ')}); remove it from the steps of one of them`];
  }
  const problems = await Promise.all(models.map(loadStep));
  for (const step of ensembles) problems.push(await loadStep(step));
  return problems.filter((problem) => problem !== '');
}

/** An ensemble, and those of its steps that were loaded along with it and that no other ensemble needs. */
export function withUnusedSteps(
  name: string,
  definitions: readonly ModelDefinition[],
  isAsked: (name: string) => boolean,
): ReadonlySet<string> {
  const leaving = new Set([name]);
  for (const one of leaving) {
    const steps = definitions.filter((definition) => definition.name === one).flatMap(stepNamesOf);
    for (const step of steps) {
      const users = definitions.filter((definition) => stepNamesOf(definition).includes(step));
      if (!isAsked(step) && users.every((user) => leaving.has(user.name))) leaving.add(step);
    }
  }
  return leaving;
}
