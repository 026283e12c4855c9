/** Triton's `sequence_batching`, read and checked: which tensors the server provides, and how many sequences may be active. */
import type { ModelPolicy, SequencePolicy } from '@millrace/core';
import type { OnnxGraph } from '@millrace/onnx';
import type { ModelView } from '../../model/model-view.ts';
import type { Sequencing } from '../../model/sequencing.ts';
import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import type { ModelSettings } from '../model-parameters.ts';
import { readControls } from './read-controls.ts';
import { type ReadState, readStates } from './read-states.ts';
import type { WrittenSequences } from './written.ts';

/** Triton's. */
const sequenceIdleMicrosecondsDefault = 1_000_000;

/** The graph as the model's clients see it: without the tensors that the server itself provides and consumes. */
export function clientGraphOf(graph: OnnxGraph, config: ModelConfig): OnnxGraph {
  const written = config.sequence_batching;
  if (written === undefined) return graph;
  const given = new Set([
    ...(written.control_input ?? []).map(({ name }) => name),
    ...(written.state ?? []).map(({ input_name }) => input_name),
  ]);
  // A state may be shown to clients too, by listing it among the outputs.
  const shown = new Set((config.output ?? []).map(({ name }) => name));
  const kept = new Set((written.state ?? []).map(({ output_name }) => output_name).filter((name) => !shown.has(name)));
  return {
    ...graph,
    inputs: graph.inputs.filter(({ name }) => !given.has(name)),
    defaultedInputs: graph.defaultedInputs.filter(({ name }) => !given.has(name)),
    outputs: graph.outputs.filter(({ name }) => !kept.has(name)),
  };
}

export interface SequencingParts {
  readonly config: ModelConfig;
  readonly graph: OnnxGraph;
  /** As clients see the model. */
  readonly view: ModelView;
  readonly instanceCount: number;
  readonly settings: ModelSettings;
  readonly modelFolder: string;
  readonly findings: Findings;
}

/** Undefined for a model without sequences. Problems go to `findings`; the result is of use only when there are none. */
export async function readSequencing(parts: SequencingParts): Promise<Sequencing | undefined> {
  const { config, graph, view, settings, findings } = parts;
  const written = config.sequence_batching;
  if (written === undefined) return undefined;
  checkNotListed(config, written, findings);
  const { isBatched } = view;
  const controls = readControls(written.control_input ?? [], graph, isBatched, findings);
  const { sequenceStateBytesMax: bytesMax } = settings;
  const reading = { graph, isBatched, modelFolder: parts.modelFolder, bytesMax, findings };
  const states = await readStates(written.state ?? [], reading);
  const outputs = [...view.outputs];
  const statesByOutput = states.map(({ output, ...state }) => {
    let position = outputs.findIndex(({ name }) => name === output.name);
    if (position === -1) position = outputs.push(output) - 1;
    return { ...state, output: position };
  });
  const given = [...controls, ...states].map(({ spec }) => spec);
  return {
    policy: policyOf(written, states, parts),
    engineView: { ...view, inputs: [...view.inputs, ...given], outputs },
    controls,
    states: statesByOutput,
    stateBytesMax: settings.sequenceStateBytesMax,
  };
}

function checkNotListed(config: ModelConfig, written: WrittenSequences, findings: Findings): void {
  for (const [index, { name }] of (config.input ?? []).entries()) {
    const isGiven =
      (written.control_input ?? []).some((control) => control.name === name) ||
      (written.state ?? []).some((state) => state.input_name === name);
    if (isGiven)
      findings.problem(`input[${index}].name`, 'is provided by the server because of sequence_batching; remove it');
  }
}

function policyOf(
  written: WrittenSequences,
  states: readonly ReadState[],
  { view, instanceCount, settings, findings }: SequencingParts,
): SequencePolicy {
  const { oldest } = written;
  const candidates = oldest?.max_candidate_sequences ?? 0;
  if (oldest !== undefined && candidates < 1) {
    findings.problem(
      'sequence_batching.oldest.max_candidate_sequences',
      'must be 1 or more: how many sequences are active at a time for each instance',
    );
  }
  const wanted = instanceCount * Math.max(1, oldest === undefined ? view.rowsMax : candidates);
  const idleMicroseconds = Number(written.max_sequence_idle_microseconds ?? 0);
  return {
    modelName: view.name,
    slotsMax: slotsWithin(wanted, states, settings.sequenceStateBytesMax, findings),
    backlogSequencesMax: settings.sequenceBacklogMax,
    idleMsMax: (idleMicroseconds === 0 ? sequenceIdleMicrosecondsDefault : idleMicroseconds) / 1000,
    slotWaitMsMax: settings.sequenceSlotWaitMsMax,
    waitingStepsMax: settings.queueRequestsMax,
    waitingBytesMax: settings.queueBytesMax,
  };
}

/** As many sequences as have room for their state; a state that grows is checked again when it does. */
function slotsWithin(wanted: number, states: readonly ReadState[], bytesMax: number, findings: Findings): number {
  const bytes = states.reduce((sum, { initialData }) => sum + initialData.byteLength, 0);
  const possible = bytes === 0 ? wanted : Math.floor(bytesMax / bytes);
  if (possible >= wanted) return wanted;
  const limit = `the state of a sequence has ${bytes} bytes, and millrace.sequence_state_bytes_max is ${bytesMax}`;
  if (possible === 0) findings.problem('sequence_batching.state', `${limit}, so no sequence fits; raise it`);
  else
    findings.warning(
      'sequence_batching.state',
      `${limit}: ${possible} instead of ${wanted} sequences are active at a time`,
    );
  return Math.max(1, possible);
}

/** What the strategy asks of the model's queue. */
export function sequenceQueuePolicy(
  config: ModelConfig,
  rowsMax: number,
  findings: Findings,
): Partial<ModelPolicy> | undefined {
  const written = config.sequence_batching;
  if (written === undefined) return undefined;
  const { oldest, direct } = written;
  if (oldest !== undefined) {
    const sizes = oldest.preferred_batch_size ?? [];
    for (const [index, size] of sizes.entries()) {
      if (size >= 1 && size <= rowsMax) continue;
      findings.problem(
        `sequence_batching.oldest.preferred_batch_size[${index}]`,
        `${size} is out of range; it must be from 1 to max_batch_size (${rowsMax})`,
      );
    }
    const preferredRows = [...sizes].sort((left, right) => left - right);
    const delayMs = Number(oldest.max_queue_delay_microseconds ?? 0) / 1000;
    return { preferredRows, delayMs, isOrdered: oldest.preserve_ordering === true };
  }
  const utilization = direct?.minimum_slot_utilization ?? 0;
  if (!(utilization >= 0 && utilization <= 1)) {
    findings.problem('sequence_batching.direct.minimum_slot_utilization', `is ${utilization}; it must be from 0 to 1`);
  }
  // Without a minimum share of slots, no batch is held back.
  if (!(utilization > 0)) return {};
  const delayMs = Number(direct?.max_queue_delay_microseconds ?? 0) / 1000;
  return { preferredRows: [Math.max(1, Math.ceil(utilization * rowsMax))], delayMs };
}

/** The defaults filled in, for those who ask for the model's configuration. */
export function completeSequences(written: WrittenSequences, rowsMax: number): WrittenSequences {
  const { oldest } = written;
  const needsSizes = oldest !== undefined && (oldest.preferred_batch_size ?? []).length === 0 && rowsMax > 0;
  return {
    ...written,
    ...(oldest === undefined ? { direct: written.direct ?? {} } : {}),
    ...(needsSizes ? { oldest: { ...oldest, preferred_batch_size: [rowsMax] } } : {}),
    max_sequence_idle_microseconds: written.max_sequence_idle_microseconds ?? sequenceIdleMicrosecondsDefault,
  };
}
