/**
 * The execution plan of an ensemble: which step waits for which, and where each tensor comes from. Built once, from the
 * configuration.
 */

/** The name of one tensor in a step's model and in the ensemble. */
export interface TensorLink {
  readonly name: string;
  readonly tensor: string;
}

export interface EnsembleStep {
  readonly model: string;
  /** Empty: the version that the model prefers. */
  readonly version: string;
  readonly inputs: readonly TensorLink[];
  readonly outputs: readonly TensorLink[];
}

/** An ensemble as configured. */
export interface EnsembleGraph {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly steps: readonly EnsembleStep[];
}

/** Where a tensor comes from: an input of the ensemble, or an output of a step, by its index in `gives`. */
export type TensorSource =
  | { readonly kind: 'input'; readonly input: number }
  | { readonly kind: 'step'; readonly step: number; readonly position: number };

export interface PlannedStep {
  readonly model: string;
  readonly version: string;
  readonly takes: readonly { readonly name: string; readonly source: TensorSource }[];
  /** The model's outputs that some step or the ensemble reads; the others are not requested. */
  readonly gives: readonly string[];
  /** Steps that must have answered before it, and steps that wait for it; each once. */
  readonly after: readonly number[];
  readonly before: readonly number[];
}

export interface EnsemblePlan {
  readonly steps: readonly PlannedStep[];
  /** For each output of the ensemble. */
  readonly outputs: readonly { readonly step: number; readonly position: number }[];
}

/** More steps than any real ensemble has; each request keeps state for all of them. */
export const ensembleStepsMax = 256;

/** A problem of a graph: a field of `ensemble_scheduling`, and what to do. */
export interface EnsembleProblem {
  readonly field: string;
  readonly message: string;
}

export type EnsemblePlanning =
  | { readonly plan: EnsemblePlan; readonly warnings: readonly EnsembleProblem[] }
  | { readonly problems: readonly EnsembleProblem[] };

/** Checks a graph as far as possible without its models, and plans it. Reports all problems at once. */
export function planEnsemble(graph: EnsembleGraph): EnsemblePlanning {
  const problems: EnsembleProblem[] = [];
  const warnings: EnsembleProblem[] = [];
  const say = (field: string, message: string): void => {
    problems.push({ field, message });
  };
  if (graph.steps.length === 0 || graph.steps.length > ensembleStepsMax) {
    const count = graph.steps.length === 0 ? 'there is none' : `there are ${graph.steps.length}`;
    say('ensemble_scheduling.step', `${count}; an ensemble has from 1 to ${ensembleStepsMax} steps`);
    return { problems };
  }
  const producers = producersOf(graph, say);
  const readers = readersOf(graph, producers, say);
  for (const [index, output] of graph.outputs.entries()) {
    const producer = producers.get(output);
    if (producer === undefined)
      say(`output[${index}].name`, `no step produces ${quote(output)}; add it to an output_map`);
    else if (producer.kind === 'input') {
      say(`output[${index}].name`, `${quote(output)} is an input too; an output must come from a step`);
    }
  }
  for (const [index, input] of graph.inputs.entries()) {
    if (!readers.has(input)) say(`input[${index}].name`, `no step reads ${quote(input)}; use it or remove it`);
  }
  const wanted = new Set([...readers, ...graph.outputs]);
  for (const [index, step] of graph.steps.entries()) {
    for (const { name, tensor } of step.outputs) {
      if (wanted.has(tensor)) continue;
      warnings.push({
        field: `${stepField(index)}.output_map[${quote(name)}]`,
        message: `nothing reads ${quote(tensor)}, so it is not computed; remove it`,
      });
    }
  }
  if (problems.length > 0) return { problems };
  const steps = plannedSteps(graph, wanted);
  const cycle = findCycle(steps);
  if (cycle !== undefined) {
    const names = [...cycle, cycle[0] as number].map((step) => `step[${step}] (${graph.steps[step]?.model})`);
    say('ensemble_scheduling.step', `${names.join(' waits for ')}; no step may wait for itself: break the cycle`);
    return { problems };
  }
  const outputs = graph.outputs.map((tensor) => sourceOf(graph, wanted, tensor) as { step: number; position: number });
  sayUseless(steps, outputs, graph, say);
  return problems.length > 0 ? { problems } : { plan: { steps, outputs }, warnings };
}

type Say = (field: string, message: string) => void;
type Producer = { readonly kind: 'input' } | { readonly kind: 'step'; readonly field: string };

function producersOf(graph: EnsembleGraph, say: Say): ReadonlyMap<string, Producer> {
  const producers = new Map<string, Producer>(graph.inputs.map((input) => [input, { kind: 'input' }]));
  for (const [index, step] of graph.steps.entries()) {
    for (const { name, tensor } of step.outputs) {
      const field = `${stepField(index)}.output_map[${quote(name)}]`;
      const other = producers.get(tensor);
      if (other === undefined) producers.set(tensor, { kind: 'step', field });
      else {
        const where = other.kind === 'input' ? 'is an input of the ensemble' : `is already produced by ${other.field}`;
        say(field, `${quote(tensor)} ${where}; choose another name for one of them`);
      }
    }
  }
  return producers;
}

function readersOf(graph: EnsembleGraph, producers: ReadonlyMap<string, Producer>, say: Say): ReadonlySet<string> {
  const readers = new Set<string>();
  for (const [index, step] of graph.steps.entries()) {
    for (const { name, tensor } of step.inputs) {
      readers.add(tensor);
      if (producers.has(tensor)) continue;
      const known = [...producers.keys()].map(quote).join(', ');
      const field = `${stepField(index)}.input_map[${quote(name)}]`;
      say(
        field,
        `${quote(tensor)} is neither an input of the ensemble nor produced by a step; known tensors are ${known}`,
      );
    }
  }
  return readers;
}

function plannedSteps(graph: EnsembleGraph, wanted: ReadonlySet<string>): readonly PlannedStep[] {
  const after = graph.steps.map((step) => {
    const sources = step.inputs.map(({ tensor }) => sourceOf(graph, wanted, tensor));
    return [...new Set(sources.flatMap((source) => (source.kind === 'step' ? [source.step] : [])))];
  });
  return graph.steps.map(({ model, version, inputs, outputs }, index) => ({
    model,
    version,
    takes: inputs.map(({ name, tensor }) => ({ name, source: sourceOf(graph, wanted, tensor) })),
    gives: outputs.filter(({ tensor }) => wanted.has(tensor)).map(({ name }) => name),
    after: after[index] ?? [],
    before: after.flatMap((steps, later) => (steps.includes(index) ? [later] : [])),
  }));
}

function sourceOf(graph: EnsembleGraph, wanted: ReadonlySet<string>, tensor: string): TensorSource {
  const input = graph.inputs.indexOf(tensor);
  if (input >= 0) return { kind: 'input', input };
  const step = graph.steps.findIndex(({ outputs }) => outputs.some((output) => output.tensor === tensor));
  const given = graph.steps[step]?.outputs.filter((output) => wanted.has(output.tensor)) ?? [];
  return { kind: 'step', step, position: given.findIndex((output) => output.tensor === tensor) };
}

/** The steps of a cycle, each waiting for the next; undefined when there is none. */
function findCycle(steps: readonly PlannedStep[]): readonly number[] | undefined {
  const done = new Set<number>();
  const trail: number[] = [];
  const visit = (step: number): readonly number[] | undefined => {
    if (trail.includes(step)) return trail.slice(trail.indexOf(step));
    if (done.has(step)) return undefined;
    trail.push(step);
    for (const earlier of steps[step]?.after ?? []) {
      const cycle = visit(earlier);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    done.add(step);
    return undefined;
  };
  for (const step of steps.keys()) {
    const cycle = visit(step);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

function sayUseless(
  steps: readonly PlannedStep[],
  outputs: readonly { readonly step: number }[],
  graph: EnsembleGraph,
  say: Say,
): void {
  const useful = stepsNeededFor(
    steps,
    outputs.map(({ step }) => step),
  );
  for (const [index, isUseful] of useful.entries()) {
    if (isUseful) continue;
    say(stepField(index), `no output depends on ${quote(graph.steps[index]?.model ?? '')}; remove the step`);
  }
}

/** For each step, whether one of these depends on it; they depend on themselves. */
export function stepsNeededFor(steps: readonly PlannedStep[], wanted: readonly number[]): boolean[] {
  const isNeeded = steps.map(() => false);
  const open = [...wanted];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    if (isNeeded[step] === true) continue;
    isNeeded[step] = true;
    open.push(...(steps[step]?.after ?? []));
  }
  return isNeeded;
}

export function stepField(index: number): string {
  return `ensemble_scheduling.step[${index}]`;
}

function quote(name: string): string {
  return JSON.stringify(name);
}
