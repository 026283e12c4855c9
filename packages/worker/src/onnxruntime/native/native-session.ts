import {
  type BatchTensor,
  datatypes,
  elementCount,
  engineShapeFrom,
  InferenceError,
  type LoadSpec,
  type TensorSpec,
} from '@millrace/protocol';
import type { RunRequest, RunResult, Session } from '../../engine.ts';
import { type Expected, ExpectedOutputs, isRefusedShape } from '../expected-outputs.ts';
import { mustBeExact, mustFillShape, mustFindTensor } from '../onnx-tensor.ts';
import { KeptInput, keptInputBytesMax } from './kept-input.ts';
import { elementNumberOf, type NativeGraph } from './native-graph.ts';
import { RunArguments } from './run-arguments.ts';

/**
 * One loaded model of numbers only, run on the processor by the C interface of the engine. The engine's binding for Node makes objects of
 * every value, which takes as long as the run of a small model, and answers by a promise.
 */
export class NativeSession implements Session {
  readonly #graph: NativeGraph;
  readonly #spec: LoadSpec;
  readonly #expected: ExpectedOutputs;
  /** By the position of the input. */
  readonly #kept: readonly KeptInput[];
  /** Values over memory of the batch, and those that a run returned, to be released after it. */
  readonly #passing: bigint[] = [];
  /** The memory of these values: the engine has only its address, so that it must not be collected before the run has ended. */
  readonly #held: Uint8Array[] = [];
  #arguments: RunArguments | undefined;

  constructor(graph: NativeGraph, spec: LoadSpec) {
    this.#graph = graph;
    this.#spec = spec;
    this.#expected = new ExpectedOutputs(
      spec,
      graph.inputMetadata.map(({ name }) => name),
    );
    this.#kept = spec.inputs.map((input) => new KeptInput(graph, elementNumberFor(input)));
  }

  /** After a turn of the event loop: a process that does other things as well is not kept from them by one run after the other. */
  run(request: RunRequest): Promise<RunResult> {
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          resolve(this.runNow(request));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  runNow(request: RunRequest): RunResult {
    if (request.outputs.length === 0) throw new InferenceError('inference-failed', 'no output was requested');
    const run = this.#argumentsFor(request);
    try {
      for (let at = 0; at < request.inputs.length; at++) {
        run.inputs[at] = this.#inputValue(request.inputs[at] as BatchTensor);
      }
      const expected = this.#expected.take(request);
      if (expected === undefined) return this.#runThenCopy(run, request);
      const parts = this.#takeWritten(run, request, expected);
      if (parts !== undefined) return this.#expected.resultFrom(request.outputs, expected.shapes, parts);
      return this.#runThenCopy(run, request, expected);
    } catch (error) {
      if (error instanceof InferenceError || !(error instanceof Error)) throw error;
      throw new InferenceError('inference-failed', error.message.trim(), { cause: error });
    } finally {
      this.#releasePassing();
    }
  }

  async unload(): Promise<void> {
    for (const kept of this.#kept) kept.release();
    this.#graph.release();
  }

  #argumentsFor(request: RunRequest): RunArguments {
    // Most batches are like the one before.
    if (this.#arguments?.isFor(request) !== true) this.#arguments = new RunArguments(this.#graph, this.#spec, request);
    return this.#arguments as RunArguments;
  }

  #inputValue({ index, shape, data }: BatchTensor): bigint {
    const spec = mustFindTensor(this.#spec, 'input', index);
    mustFillShape(spec, shape, data);
    const engineShape = engineShapeFrom(spec, shape);
    if (data.length <= keptInputBytesMax) return (this.#kept[index] as KeptInput).hold(data, engineShape);
    const elementBytes = datatypes[spec.datatype].bytes ?? 1;
    const aligned = data.byteOffset % elementBytes === 0 ? data : new Uint8Array(data);
    return this.#passingValue(spec, aligned, engineShape);
  }

  #passingValue(spec: TensorSpec, data: Uint8Array, shape: readonly number[]): bigint {
    const value = this.#graph.makeValue(data, BigInt64Array.from(shape, BigInt), elementNumberFor(spec));
    this.#passing.push(value);
    this.#held.push(data);
    return value;
  }

  #releasePassing(): void {
    for (const value of this.#passing) this.#graph.releaseValue(value);
    this.#passing.length = 0;
    this.#held.length = 0;
  }

  /** Runs in the memory of the answer; undefined when the engine did not take it, or did not write all of it. */
  #takeWritten(run: RunArguments, request: RunRequest, { sizes, shapes }: Expected): readonly Uint8Array[] | undefined {
    const parts = request.memory.layOut(sizes);
    for (let part = 0; part < parts.length; part++) {
      const spec = this.#spec.outputs[request.outputs[part] as number] as TensorSpec;
      run.outputs[part] = this.#passingValue(spec, parts[part] as Uint8Array, shapes[part] as readonly number[]);
    }
    try {
      this.#graph.run(run.inputNames, run.inputs, run.outputNames, run.outputs);
    } catch (error) {
      if (isRefusedShape(error)) return undefined;
      throw error;
    }
    return this.#expected.areWritten(request) ? parts : undefined;
  }

  /** `expected` is given after a run in place that failed. */
  #runThenCopy(run: RunArguments, { memory, outputs }: RunRequest, expected?: Expected): RunResult {
    run.outputs.fill(0n);
    this.#graph.run(run.inputNames, run.inputs, run.outputNames, run.outputs);
    this.#passing.push(...run.outputs);
    const returned = Array.from(run.outputs, (value) => this.#graph.read(value));
    const shapes = returned.map(({ shape }) => shape);
    if (expected !== undefined) this.#expected.learn(outputs, expected.shapes, shapes);
    const sizes = shapes.map((shape, part) => {
      const { name, datatype } = this.#spec.outputs[outputs[part] as number] as TensorSpec;
      mustBeExact(name, shape);
      return elementCount(shape) * (datatypes[datatype].bytes ?? 0);
    });
    const parts = memory.layOut(sizes);
    for (const [part, { address }] of returned.entries()) {
      memory.fill(part, (target) => this.#graph.copyFrom(address, target));
    }
    return this.#expected.resultFrom(outputs, shapes, parts);
  }
}

/** Whether all values of the model are numbers, so that they can be passed without the engine's binding for Node. */
export function hasNumbersOnly({ inputs, outputs }: LoadSpec): boolean {
  return [...inputs, ...outputs].every(({ datatype }) => elementNumberOf(datatype) !== undefined);
}

function elementNumberFor({ name, datatype }: TensorSpec): number {
  const found = elementNumberOf(datatype);
  if (found !== undefined) return found;
  throw new InferenceError('unsupported', `"${name}" is ${datatype}, which is no tensor of numbers`);
}
