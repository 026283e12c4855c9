/** Cases as the generator writes them: graphs, requests, and what ONNX Runtime answers to each request alone. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Datatype, Tensor } from '@millrace/protocol';

export interface CaseRequest {
  readonly inputs: readonly Tensor[];
  /** The right answer; undefined where ONNX Runtime refuses the request. */
  readonly outputs: readonly Tensor[] | undefined;
}

export interface Case {
  readonly seed: number;
  /** The name of its model, which lies in `NAME.onnx` of the chunk. */
  readonly name: string;
  /** Whether its rows are independent by construction. */
  readonly independent: boolean;
  readonly opset: number;
  /** Whether 16-bit floats are anywhere in the graph, so that answers are compared more loosely. */
  readonly half: boolean;
  /** What all requests in one run of ONNX Runtime gave: 'differs' where sharing a run would answer wrong. */
  readonly stacked: 'agrees' | 'differs' | 'fails' | 'unlike';
  /** Outputs of random operators: only their shape is compared. */
  readonly random: readonly string[];
  readonly operators: readonly string[];
  /** The operator of each node, by the node's name. */
  readonly nodes: Readonly<Record<string, string>>;
  readonly requests: readonly CaseRequest[];
}

interface WrittenTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
}

type WrittenCase = Omit<Case, 'requests'> & {
  readonly requests: readonly {
    readonly inputs: readonly WrittenTensor[];
    readonly outputs?: readonly WrittenTensor[];
  }[];
};

/** All cases of a chunk, their tensors views of one file. */
export function readChunk(folder: string): readonly Case[] {
  const data = readFileSync(join(folder, 'data.bin'));
  const tensorFrom = ({ name, datatype, shape, offset, bytes }: WrittenTensor): Tensor => ({
    name,
    datatype,
    shape,
    data: new Uint8Array(data.buffer, data.byteOffset + offset, bytes),
  });
  const written = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as readonly WrittenCase[];
  return written.map((one) => ({
    ...one,
    requests: one.requests.map(({ inputs, outputs }) => ({
      inputs: inputs.map(tensorFrom),
      outputs: outputs?.map(tensorFrom),
    })),
  }));
}

export function modelPath(folder: string, { name }: Pick<Case, 'name'>): string {
  return join(folder, `${name}.onnx`);
}
