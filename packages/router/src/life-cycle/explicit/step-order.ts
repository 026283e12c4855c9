/** Which models an ensemble needs, from configurations alone: graphs are read when the models are loaded. */
import { kindOf } from '../../repository/kinds/kind-table.ts';
import { readConfig } from '../../repository/read-config.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';

export interface StepOrder {
  /** Models that are not ensembles; they can be loaded at the same time. */
  readonly models: readonly string[];
  /** Ensembles that are steps, each after those that it needs. */
  readonly ensembles: readonly string[];
  /** The names on a cycle from an ensemble back to itself; empty when there is none. */
  readonly circle: readonly string[];
}

/** All models that `root` needs, directly and through other ensembles; `locationOf` returns the location of a model. */
export async function stepOrderOf(
  root: ModelLocation,
  locationOf: (name: string) => ModelLocation | undefined,
): Promise<StepOrder> {
  const models: string[] = [];
  const ensembles: string[] = [];
  const done = new Set<string>();
  let circle: readonly string[] = [];
  const visit = async (name: string, location: ModelLocation | undefined, trail: readonly string[]): Promise<void> => {
    if (trail.includes(name)) circle = [...trail.slice(trail.indexOf(name)), name];
    if (done.has(name) || circle.length > 0) return;
    const steps = location === undefined ? undefined : await stepNamesIn(location);
    for (const step of steps ?? []) await visit(step, locationOf(step), [...trail, name]);
    done.add(name);
    if (trail.length > 0) (steps === undefined ? models : ensembles).push(name);
  };
  await visit(root.name, root, []);
  return { models, ensembles, circle };
}

/** Undefined: the model is not an ensemble. */
async function stepNamesIn(location: ModelLocation): Promise<readonly string[] | undefined> {
  const { config } = await readConfig(location);
  return (await kindOf(config, location)).stepNames?.(config);
}
