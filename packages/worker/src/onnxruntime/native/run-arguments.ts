import { InferenceError, type LoadSpec } from '@millrace/protocol';
import type { RunRequest } from '../../engine.ts';
import { mustFindTensor } from '../onnx-tensor.ts';
import type { NativeGraph } from './native-graph.ts';

/** What runs with the same inputs and outputs pass to the engine: where their names lie, and room for their values. */
export class RunArguments {
  readonly inputNames: BigUint64Array;
  readonly inputs: BigUint64Array;
  readonly outputNames: BigUint64Array;
  readonly outputs: BigUint64Array;
  readonly #inputIndexes: readonly number[];
  readonly #outputIndexes: readonly number[];

  constructor(graph: NativeGraph, spec: LoadSpec, { inputs, outputs }: Pick<RunRequest, 'inputs' | 'outputs'>) {
    this.#inputIndexes = inputs.map(({ index }) => index);
    this.#outputIndexes = [...outputs];
    const namesOf = (role: 'input' | 'output', indexes: readonly number[]): BigUint64Array =>
      BigUint64Array.from(indexes, (index) => graph.mustFindName(mustFindTensor(spec, role, index).name));
    const given = new Set(this.#inputIndexes.map((index) => mustFindTensor(spec, 'input', index).name));
    const missing = graph.inputMetadata.find(({ name }) => !given.has(name));
    if (missing !== undefined) throw new InferenceError('inference-failed', `input '${missing.name}' is missing`);
    this.inputNames = namesOf('input', this.#inputIndexes);
    this.outputNames = namesOf('output', this.#outputIndexes);
    this.inputs = new BigUint64Array(inputs.length);
    this.outputs = new BigUint64Array(outputs.length);
  }

  isFor({ inputs, outputs }: Pick<RunRequest, 'inputs' | 'outputs'>): boolean {
    if (inputs.length !== this.#inputIndexes.length || outputs.length !== this.#outputIndexes.length) return false;
    for (let at = 0; at < inputs.length; at++) if (inputs[at]?.index !== this.#inputIndexes[at]) return false;
    for (let at = 0; at < outputs.length; at++) if (outputs[at] !== this.#outputIndexes[at]) return false;
    return true;
  }
}
