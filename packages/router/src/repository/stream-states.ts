/** Which outputs of a model carry the state of a stream, and into which inputs. */
import type { TensorSpec } from '@millrace/protocol';
import type { StreamStatePair } from '../model/model-view.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

export const streamStatesParameter = 'millrace.stream_states';
const parameterPath = `parameters[${JSON.stringify(streamStatesParameter)}]`;

/** `INPUT=OUTPUT`, several with commas. Empty: streams of the model have no state. */
export function readStreamStates(
  config: ModelConfig,
  view: { readonly inputs: readonly TensorSpec[]; readonly outputs: readonly TensorSpec[] },
  findings: Findings,
): readonly StreamStatePair[] {
  const written = config.parameters?.[streamStatesParameter]?.string_value;
  if (written === undefined) return [];
  if (config.sequence_batching !== undefined) {
    findings.problem(parameterPath, 'cannot be combined with sequence_batching; remove one of them');
  }
  const pairs: StreamStatePair[] = [];
  for (const part of written.split(',')) {
    const [input = '', output = '', ...rest] = part.split('=').map((name) => name.trim());
    const from = view.inputs.find(({ name }) => name === input);
    const to = view.outputs.find(({ name }) => name === output);
    if (rest.length > 0 || from === undefined || to === undefined) {
      const known = `inputs ${namesOf(view.inputs)}; outputs ${namesOf(view.outputs)}`;
      findings.problem(parameterPath, `${part.trim()} must be INPUT=OUTPUT, with names of the model (${known})`);
    } else if (from.datatype !== to.datatype || !isSameShape(from, to)) {
      const shapes = `${from.datatype} [${from.shape}] and ${to.datatype} [${to.shape}]`;
      findings.problem(
        parameterPath,
        `${input} and ${output} must have the same datatype and shape, but are ${shapes}`,
      );
    } else if (from.datatype === 'BYTES' || from.shape.slice(1).some((size) => size < 0)) {
      findings.problem(parameterPath, `${input} needs fixed sizes of numbers, because a stream begins with zeros`);
    } else if (pairs.some((pair) => pair.input === input || pair.output === output)) {
      findings.problem(parameterPath, `${part.trim()} names a tensor twice`);
    } else pairs.push({ input, output });
  }
  return pairs;
}

function namesOf(specs: readonly TensorSpec[]): string {
  return specs.map(({ name }) => name).join(', ');
}

function isSameShape(a: TensorSpec, b: TensorSpec): boolean {
  return a.shape.length === b.shape.length && a.shape.every((size, axis) => size === b.shape[axis]);
}
