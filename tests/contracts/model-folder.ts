/** Model files and load specs for the lane tests, in a folder that is removed afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadSpec, TensorSpec } from '@millrace/protocol';
import {
  arithmeticModel,
  countingModel,
  doublingModel,
  gatherModel,
  identityModel,
  passingModel,
  positionsModel,
} from '@millrace/worker/testing';

export const numericDatatypes = [
  'BOOL',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP16',
  'FP32',
  'FP64',
] as const;

export class ModelFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'millrace-lane-'));

  remove(): void {
    rmSync(this.path, { recursive: true });
  }

  /** sum and product of two rows of four numbers. */
  arithmetic(model: number): LoadSpec {
    const tensor = (name: string): TensorSpec => ({ name, datatype: 'FP32', shape: [-1, 4] });
    return this.#spec(model, 'arithmetic', arithmeticModel(4), {
      inputs: [tensor('left'), tensor('right')],
      outputs: [tensor('sum'), tensor('product')],
      isBatched: true,
    });
  }

  /** Rows of FP32 that come out as they went in. */
  identity(model: number, columns: number): LoadSpec {
    const tensor = (name: string): TensorSpec => ({ name, datatype: 'FP32', shape: [-1, columns] });
    return this.#spec(model, `identity${columns}`, identityModel([{ datatype: 'FP32', shape: ['batch', columns] }]), {
      inputs: [tensor('input0')],
      outputs: [tensor('output0')],
      isBatched: true,
    });
  }

  /** Rows of FP32 that come out twice, side by side: an answer larger than its question. */
  doubling(model: number, columns: number): LoadSpec {
    return this.#spec(model, 'doubling', doublingModel(columns), {
      inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, columns] }],
      outputs: [{ name: 'output', datatype: 'FP32', shape: [-1, 2 * columns] }],
      isBatched: true,
    });
  }

  /** One tensor of every datatype, strings last, of two elements a row. */
  everyDatatype(model: number): LoadSpec {
    const all = [...numericDatatypes, 'BYTES'] as const;
    const bytes = identityModel(all.map((datatype) => ({ datatype, shape: ['batch', 2] })));
    const tensors = (prefix: string): TensorSpec[] =>
      all.map((datatype, index) => ({ name: `${prefix}${index}`, datatype, shape: [-1, 2] }));
    return this.#spec(model, 'every-datatype', bytes, {
      inputs: tensors('input'),
      outputs: tensors('output'),
      isBatched: true,
    });
  }

  /** Its input as it is, and a constant beside it: outputs that ONNX Runtime does not compute. */
  passing(model: number, columns: number): LoadSpec {
    const tensor = (name: string, rows = -1): TensorSpec => ({ name, datatype: 'FP32', shape: [rows, columns] });
    return this.#spec(model, `passing${columns}`, passingModel(columns), {
      inputs: [tensor('input')],
      outputs: [tensor('input'), tensor('constant', 1), tensor('doubled')],
      isBatched: false,
    });
  }

  /** The positions of what is not zero: only the run knows how many. */
  positions(model: number): LoadSpec {
    return this.#spec(model, 'positions', positionsModel(), {
      inputs: [{ name: 'flags', datatype: 'FP32', shape: [-1] }],
      outputs: [{ name: 'positions', datatype: 'INT64', shape: [1, -1] }],
      isBatched: false,
    });
  }

  /** Fails for an index outside of the items. */
  gather(model: number): LoadSpec {
    return this.#spec(model, 'gather', gatherModel(), {
      inputs: [
        { name: 'items', datatype: 'FP32', shape: [-1] },
        { name: 'index', datatype: 'INT64', shape: [1] },
      ],
      outputs: [{ name: 'item', datatype: 'FP32', shape: [1] }],
      isBatched: false,
    });
  }

  /** Runs for as many turns as it is told, about a microsecond each. */
  counting(model: number): LoadSpec {
    return this.#spec(model, 'counting', countingModel(), {
      inputs: [{ name: 'iterations', datatype: 'INT64', shape: [1] }],
      outputs: [{ name: 'counted', datatype: 'INT64', shape: [1] }],
      isBatched: false,
    });
  }

  #spec(
    model: number,
    name: string,
    bytes: Uint8Array,
    rest: Pick<LoadSpec, 'inputs' | 'outputs' | 'isBatched'>,
  ): LoadSpec {
    const path = join(this.path, `${name}.onnx`);
    writeFileSync(path, bytes);
    return { model, name, version: '1', engine: 'onnxruntime', path, threads: 1, isSpinning: false, ...rest };
  }
}
