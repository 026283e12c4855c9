/** The two facts about a graph's batches: whether dimension 0 of its tensors is the batch, and who shares a run. */
import type { OnnxGraph, OnnxTensor, RowVerdict } from '@millrace/onnx';
import { batchParameter, type RunSharing, verdictText } from '../model/run-sharing.ts';
import { padPrefix } from './batch-shaping/read-padding.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { freeShape } from './tensor-config.ts';

/**
 * Rows in a batch of a model whose configuration does not say. Triton's is 4, because its batcher may hold requests
 * back to fill a batch. Batches here form only from what already waits while every instance is busy, so a large limit
 * delays no request, and it lets throughput rise with the load.
 */
const rowsMaxDefault = 64;

/** `auto`: share where it is proven safe or the configuration says so; `always` and `never`: whatever was proven. */
export const batchChoices = ['auto', 'always', 'never'] as const;
export type BatchChoice = (typeof batchChoices)[number];

export interface BatchingSigns {
  readonly config: ModelConfig;
  /** As clients see it. */
  readonly graph: OnnxGraph;
  readonly verdict: RowVerdict;
  /** Refuse what otherwise warns: runs shared although the rows depend on each other. */
  readonly isStrict: boolean;
}

export interface BatchingChoice extends RunSharing {
  /** The `max_batch_size` that the model is served with; 0: its tensors have no batch dimension. */
  readonly rowsMax: number;
}

export function chooseBatching(signs: BatchingSigns, findings: Findings): BatchingChoice {
  const { config, verdict, isStrict } = signs;
  const sized = chooseRowsMax(signs, findings);
  const decided = { ...sized, verdict };
  if (sized.rowsMax === 0) return { ...decided, sharesRuns: false };
  const alone = { ...decided, sharesRuns: false };
  if (batchChoiceOf(config) === 'never') {
    return { ...alone, reason: `${batchParameter} is never`, advice: `remove ${batchParameter}` };
  }
  if (sized.rowsMax === 1) return { ...alone, reason: 'max_batch_size is 1', advice: 'raise max_batch_size' };
  const insistence = insistenceOf(config);
  if (insistence === undefined) {
    const isProven = verdict.kind === 'independent';
    const advice = isProven
      ? `write ${batchParameter}: never if each request must run alone`
      : unprovenAdvice(verdict, `write dynamic_batching or ${batchParameter}: always`);
    return { ...decided, sharesRuns: isProven, reason: verdictText(verdict), advice };
  }
  if (verdict.kind === 'dependent') {
    const message = `lets requests share runs, but ${verdictText(verdict)}; answers may be wrong: write ${batchParameter}: never`;
    if (isStrict) findings.problem(insistence.field, `${message}, or start the server without --strict-batching`);
    else findings.warning(insistence.field, message);
  }
  return {
    ...decided,
    sharesRuns: true,
    reason: `the configuration says so (${insistence.name}); ${verdictText(verdict)}`,
    advice: `write ${batchParameter}: never if each request must run alone`,
  };
}

interface SizedChoice {
  readonly rowsMax: number;
  readonly isGuessed: boolean;
  readonly reason: string;
  readonly advice: string;
}

function chooseRowsMax({ config, graph, verdict }: BatchingSigns, findings: Findings): SizedChoice {
  const written = config.max_batch_size;
  const choice = batchChoiceOf(config);
  const asWritten = (rowsMax: number): SizedChoice => {
    const reason = written === undefined ? 'the configuration has no max_batch_size' : `max_batch_size is ${rowsMax}`;
    return { rowsMax, isGuessed: false, reason, advice: 'write a max_batch_size above 0 if the graph has a batch' };
  };
  if (written !== undefined && written < 0) {
    findings.problem('max_batch_size', `${written} is out of range; it must be 0 (no batching) or more`);
    return asWritten(0);
  }
  const isComplete = (config.input ?? []).length > 0 && (config.output ?? []).length > 0;
  // A written 0 is taken as meant, although protobuf does not distinguish it from an absent field.
  if (written === 0 && choice === 'always') {
    findings.problem(
      `parameters["${batchParameter}"]`,
      'is always, but max_batch_size is 0; write how many rows a batch may have',
    );
  }
  if (written === 0 || (isComplete && (written !== undefined || choice !== 'always'))) return asWritten(written ?? 0);
  const obstacle = batchingObstacle(graph);
  if (written !== undefined) {
    if (obstacle !== undefined) {
      findings.problem(
        'max_batch_size',
        `is ${written}, but ${obstacle}; set it to 0 or export the model with a free first size`,
      );
    }
    return asWritten(written);
  }
  return guessRowsMax(obstacle ?? dimsObstacle(config, graph), { config, graph, verdict }, findings);
}

/** Guesses a batch dimension only where it is safe; every other graph is served with its own shapes, never refused. */
function guessRowsMax(
  obstacle: string | undefined,
  { config, graph, verdict }: Omit<BatchingSigns, 'isStrict'>,
  findings: Findings,
): SizedChoice {
  const choice = batchChoiceOf(config);
  const guessed: SizedChoice = { rowsMax: rowsMaxDefault, isGuessed: true, reason: '', advice: '' };
  const whole = (reason: string, advice: string): SizedChoice => ({ rowsMax: 0, isGuessed: true, reason, advice });
  if (choice === 'always') {
    if (obstacle === undefined) return guessed;
    findings.problem(
      `parameters["${batchParameter}"]`,
      `is always, but ${obstacle}; remove it, or export the model with a free first size everywhere`,
    );
    return whole(obstacle, '');
  }
  if (choice === 'never') return whole(`${batchParameter} is never`, `remove ${batchParameter}`);
  if (obstacle !== undefined) return whole(obstacle, 'export the model with a free first size everywhere');
  const names = firstSizeNames(graph.inputs);
  if (names.length > 1) {
    return whole(
      `the inputs name their first sizes differently (${names.join(', ')})`,
      `write max_batch_size if they are all the batch, or ${batchParameter}: always`,
    );
  }
  if (verdict.kind === 'independent') return guessed;
  return whole(verdictText(verdict), unprovenAdvice(verdict, `write ${batchParameter}: always`));
}

/** Where rows are known to depend on each other, sharing runs would mix the data of different callers. */
function unprovenAdvice({ kind }: RowVerdict, insist: string): string {
  if (kind === 'dependent')
    return `nothing: requests run alone, and ${batchParameter}: always would mix the rows of callers`;
  return `${insist} if the rows are independent after all`;
}

function batchChoiceOf({ parameters }: ModelConfig): BatchChoice {
  const choice = parameters?.[batchParameter]?.string_value as BatchChoice | undefined;
  return choice !== undefined && batchChoices.includes(choice) ? choice : 'auto';
}

interface Insistence {
  readonly name: string;
  readonly field: string;
}

/** The setting of the configuration that makes requests share runs; undefined: there is none. */
function insistenceOf(config: ModelConfig): Insistence | undefined {
  const { dynamic_batching, sequence_batching, batch_input, batch_output, input = [], parameters = {} } = config;
  if (batchChoiceOf(config) === 'always') {
    return { name: `${batchParameter}: always`, field: `parameters["${batchParameter}"]` };
  }
  const named = (name: string): Insistence => ({ name, field: name });
  if (dynamic_batching !== undefined) return named('dynamic_batching');
  if (sequence_batching !== undefined) return named('sequence_batching');
  // These describe how the requests of one batch are laid out side by side.
  const ragged = input.findIndex((entry) => entry.allow_ragged_batch === true);
  if (ragged >= 0) return { name: 'allow_ragged_batch', field: `input[${ragged}].allow_ragged_batch` };
  if ((batch_input ?? []).length > 0) return named('batch_input');
  if ((batch_output ?? []).length > 0) return named('batch_output');
  const padding = Object.keys(parameters).find((key) => key.startsWith(padPrefix));
  return padding === undefined ? undefined : { name: padding, field: `parameters["${padding}"]` };
}

function batchingObstacle(graph: OnnxGraph): string | undefined {
  if (graph.inputs.length === 0) return 'the graph has no inputs';
  const fixed = [...graph.inputs, ...graph.outputs].find((tensor) => freeShape(tensor)?.[0] !== -1);
  if (fixed === undefined) return undefined;
  const shape = freeShape(fixed);
  const shown = shape === undefined ? 'has no stated shape' : `has the shape [ ${shape.join(', ')} ]`;
  return `${JSON.stringify(fixed.name)} ${shown} in the graph, without a free first size`;
}

/** The entries that are written must leave the batch dimension out. */
function dimsObstacle(config: ModelConfig, graph: OnnxGraph): string | undefined {
  const isMisfit = (tensors: readonly OnnxTensor[]) => (entry: NonNullable<ModelConfig['output']>[number]) => {
    const rank = tensors.find(({ name }) => name === entry.name)?.shape?.length;
    const dims = entry.reshape?.shape ?? (entry.reshape === undefined ? entry.dims : []);
    return rank !== undefined && dims !== undefined && dims.length !== rank - 1;
  };
  const misfit =
    (config.input ?? []).find(isMisfit(graph.inputs)) ?? (config.output ?? []).find(isMisfit(graph.outputs));
  return misfit && `the dims of ${JSON.stringify(misfit.name)} are written with the first size of the graph`;
}

/** Unequal names for the first sizes mean that they are not the same axis; a size without a name may be any. */
function firstSizeNames(tensors: readonly OnnxTensor[]): readonly string[] {
  const firsts = tensors.map(({ shape }) => shape?.[0]);
  return [...new Set(firsts.filter((first) => typeof first === 'string' && first !== ''))] as string[];
}
