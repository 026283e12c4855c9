/** Which contexts open streams need: those of their versions, and of the steps of an ensemble. */
import type { ContextName, ModelKey } from '@millrace/core';
import { modelKeyFrom } from '../../data-plane/served-model.ts';
import type { ContextPlan } from './context-plan.ts';

export function contextsOf(
  streamed: ReadonlySet<ModelKey>,
  plans: ReadonlyMap<ContextName, ContextPlan>,
): ReadonlySet<ContextName> {
  const contexts = new Set<ContextName>();
  const add = (isMeant: (model: string, version: string) => boolean): void => {
    for (const plan of plans.values()) {
      if (contexts.has(plan.name)) continue;
      if (!plan.members.some(({ definition, version }) => isMeant(definition.name, version.version))) continue;
      contexts.add(plan.name);
      for (const step of plan.members[0]?.version.ensemble?.plan.steps ?? []) {
        add((model, version) => model === step.model && (step.version === '' || version === step.version));
      }
    }
  };
  add((model, version) => streamed.has(modelKeyFrom(model, version)));
  return contexts;
}
