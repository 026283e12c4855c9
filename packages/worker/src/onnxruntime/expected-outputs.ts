import { callerShapeFrom, datatypes, elementCount, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import { inPlaceBytesMin, type RunRequest, type RunResult } from '../engine.ts';
import { canBeWrittenInPlace, mustFindTensor } from './onnx-tensor.ts';

/** The expected shapes of the outputs before the run, as the engine has them. */
export interface Expected {
  /** The expectation depends on these rows and outputs. */
  readonly rows: number | undefined;
  readonly outputs: readonly number[];
  readonly shapes: readonly (readonly number[])[];
  readonly sizes: readonly number[];
}

/** ONNX Runtime's message for an output that has another shape than the memory given for it. */
const refusedShape =
  /The output OrtValue provided for output|Invalid rank for output|Got invalid dimensions for output|OrtValue shape verification failed|Tensor size mismatch/;

/**
 * Which outputs of a model the engine can write into the memory of the answer. There are exceptions: where an output is an input, a
 * constant, or a value passed through a branch without a copy, ONNX Runtime leaves that memory unwritten, and even returns it as
 * the result; where the real shape is not the declared one, it refuses the memory. Then the run is repeated without that memory,
 * and from then on the output is copied from the engine's own result.
 */
export class ExpectedOutputs {
  readonly #spec: LoadSpec;
  /** By the position among the outputs: whether it is copied, never written in place. */
  readonly #isCopied: boolean[];
  #last: Expected | undefined;

  constructor(spec: LoadSpec, inputNames: readonly string[]) {
    this.#spec = spec;
    this.#isCopied = spec.outputs.map((output) => !canBeWrittenInPlace(output) || inputNames.includes(output.name));
  }

  /** The expected outputs; undefined when one of them has to be copied, or its size is known only after the run. */
  take({ inputs, outputs }: RunRequest): Expected | undefined {
    const rows = this.#rowsOf(inputs);
    const last = this.#last;
    // Most batches are like the one before.
    if (last !== undefined && last.rows === rows && isSameList(last.outputs, outputs)) return last;
    const shapes: number[][] = [];
    const sizes: number[] = [];
    for (const index of outputs) {
      const spec = mustFindTensor(this.#spec, 'output', index);
      if (this.#isCopied[index] === true) return undefined;
      const shape = [...(spec.engineShape ?? spec.shape)];
      if (rows !== undefined) shape[0] = rows;
      if (shape.includes(-1)) return undefined;
      const bytes = elementCount(shape) * (datatypes[spec.datatype].bytes ?? 0);
      if (bytes < inPlaceBytesMin) return undefined;
      shapes.push(shape);
      sizes.push(bytes);
    }
    this.#last = { rows, outputs, shapes, sizes };
    return this.#last;
  }

  /** After a run in place. Outputs that the engine did not write are copied from now on. */
  areWritten({ memory, outputs }: RunRequest): boolean {
    let areWritten = true;
    for (let part = 0; part < outputs.length; part++) {
      if (memory.isWritten(part)) continue;
      areWritten = false;
      this.#copyFromNowOn(outputs[part] as number);
    }
    return areWritten;
  }

  /** An output whose shape was not as expected is copied from now on; if there is none, all are, so that not every batch is run twice. */
  learn(outputs: readonly number[], expected: Expected['shapes'], actual: Expected['shapes']): void {
    if (outputs.some((index) => this.#isCopied[index] === true)) return;
    const isAsExpected = (part: number): boolean => String(expected[part]) === String(actual[part]);
    const areAllAsExpected = outputs.every((_, part) => isAsExpected(part));
    for (const [part, index] of outputs.entries()) {
      if (areAllAsExpected || !isAsExpected(part)) this.#copyFromNowOn(index);
    }
  }

  /**
   * The number of rows of a batch: -1 where inputs have unequal first sizes, so that the graph decides how many come out; undefined for
   * a model without batches. An input with a default value applies to the whole run and has no rows.
   */
  #rowsOf(inputs: RunRequest['inputs']): number | undefined {
    if (!this.#spec.isBatched) return undefined;
    let rows: number | undefined;
    for (const { index, shape } of inputs) {
      if (this.#spec.inputs[index]?.hasDefault === true) continue;
      if (rows === undefined) rows = shape[0];
      else if (shape[0] !== rows) return -1;
    }
    return rows;
  }

  /** The answer with outputs of these shapes of the engine, each in its part of the memory. */
  resultFrom(
    outputs: readonly number[],
    shapes: readonly (readonly number[])[],
    parts: readonly Uint8Array[],
  ): RunResult {
    return {
      outputs: outputs.map((index, part) => ({
        index,
        shape: callerShapeFrom(this.#spec.outputs[index] as TensorSpec, shapes[part] as readonly number[]),
        data: parts[part] as Uint8Array,
      })),
    };
  }

  #copyFromNowOn(output: number): void {
    this.#isCopied[output] = true;
    this.#last = undefined;
  }
}

export function isRefusedShape(error: unknown): boolean {
  return error instanceof Error && refusedShape.test(error.message);
}

function isSameList(list: readonly number[], other: readonly number[]): boolean {
  if (list.length !== other.length) return false;
  for (let at = 0; at < list.length; at++) if (list[at] !== other[at]) return false;
  return true;
}
