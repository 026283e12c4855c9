/** The loads that two checkouts are compared under. None needs a tool that may not be installed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expectedOutput } from '../expected-output.ts';
import { grpcInferPath, inferBody, outputFrom } from '../grpc-messages.ts';
import { callOnce } from '../load/grpc-call.ts';
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { isNearly } from '../nearly.ts';

export interface Cell {
  readonly name: string;
  readonly modelPath: string;
  /** Cores of the server, as `taskset` takes them; core 0 unless given. The load has core 1. */
  readonly cores?: string;
  /** Writes what the load reads into a folder of its own. */
  prepare(folder: string): Promise<PreparedCell>;
}

export interface PreparedCell {
  /** Arguments of the program `load/slice-load`. */
  readonly loadArguments: readonly string[];
  /** Throws when the server answers wrongly; for loads that do not check every answer. */
  checkAnswer?(port: number): Promise<void>;
}

interface Work {
  readonly modelPath: string;
  readonly input: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const mlp: Work = { modelPath: mlpPath, input: 'input', shape: [1, mlpInputs], data: mlpRows(1) };
const image: Work = {
  modelPath: fileURLToPath(new URL('../../../tests/models/image_mean/1/model.onnx', import.meta.url)),
  input: 'image',
  shape: [1, 3, 224, 224],
  data: Float32Array.from({ length: 3 * 224 * 224 }, (_, index) => Math.sin(index)),
};

const numbers: Work = {
  modelPath: fileURLToPath(new URL('../../../tests/models/identity_fp32/1/model.onnx', import.meta.url)),
  input: 'INPUT0',
  shape: [1, 16],
  data: Float32Array.from({ length: 16 }, (_, index) => Math.fround(Math.sin(index))),
};

export const cells: readonly Cell[] = [
  grpcCell('grpc-8x8', mlp, 8, 8),
  restCell('rest-binary-64', mlp, 64),
  restCell('rest-json-64', numbers, 64, 'json'),
  healthCell('health-64', 64, 1),
  healthCell('health-pipelined', 16, 8),
  restCell('image-600k', image, 8),
  grpcCell('grpc-image-600k', image, 8, 1),
  restCell('one-caller-image', image, 1),
  grpcCell('one-caller-grpc-image', image, 1, 1),
  grpcCell('one-caller', mlp, 1, 1),
  restCell('one-caller-rest', mlp, 1),
  { ...grpcCell('one-caller-two-cores', mlp, 1, 1), cores: '0,1' },
];

/** A request that the front end answers alone. */
function healthCell(name: string, connections: number, pipelined: number): Cell {
  return {
    name,
    modelPath: mlp.modelPath,
    prepare: async (folder) => {
      const requestPath = join(folder, `${name}-request`);
      writeFileSync(requestPath, 'GET /v2/health/ready HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
      const loadArguments = ['--connections', String(connections), '--pipelined', String(pipelined)];
      return { loadArguments: [...loadArguments, '--request', requestPath] };
    },
  };
}

function grpcCell(name: string, work: Work, connections: number, streams: number): Cell {
  return {
    name,
    modelPath: work.modelPath,
    prepare: async (folder) => {
      const expected = await expectedOutput(work.modelPath, work.input, work.shape, work.data);
      const body = inferBody('model', work.input, work.shape, work.data);
      const bodyPath = join(folder, `${name}-body`);
      writeFileSync(bodyPath, body);
      return {
        loadArguments: [
          ...['--connections', String(connections), '--streams', String(streams)],
          ...['--path', grpcInferPath, '--body', bodyPath],
        ],
        checkAnswer: async (port) => {
          const messages = await callOnce(`http://127.0.0.1:${port}`, grpcInferPath, body);
          if (!isNearly(outputFrom(messages[0] ?? Buffer.alloc(0), expected.name), expected.data))
            throw new Error(`${name} was answered wrongly`);
        },
      };
    },
  };
}

function restCell(name: string, work: Work, connections: number, form: 'binary' | 'json' = 'binary'): Cell {
  return {
    name,
    modelPath: work.modelPath,
    prepare: async (folder) => {
      const expected = await expectedOutput(work.modelPath, work.input, work.shape, work.data);
      const [requestPath, expectPath] = [join(folder, `${name}-request`), join(folder, `${name}-expected`)];
      writeFileSync(requestPath, form === 'json' ? jsonRequest(work) : wholeRequest(work, expected.name));
      writeFileSync(expectPath, new Uint8Array(expected.data.buffer));
      return {
        loadArguments: [
          ...['--connections', String(connections), '--request', requestPath, '--expect', expectPath],
          ...(form === 'json' ? ['--json'] : []),
        ],
      };
    },
  };
}

/** A REST request for one output, tensors in binary, as it goes on the wire. */
function wholeRequest({ input, shape, data }: Work, output: string): Uint8Array {
  const tensor = { name: input, datatype: 'FP32', shape, parameters: { binary_data_size: data.byteLength } };
  const outputs = [{ name: output, parameters: { binary_data: true } }];
  const json = JSON.stringify({ inputs: [tensor], outputs });
  const head = [
    'POST /v2/models/model/infer HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/octet-stream',
    `inference-header-content-length: ${json.length}`,
    `content-length: ${json.length + data.byteLength}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`), new Uint8Array(data.buffer)]);
}

function jsonRequest({ input, shape, data }: Work): string {
  const body = JSON.stringify({ inputs: [{ name: input, datatype: 'FP32', shape, data: Array.from(data) }] });
  const head = [
    'POST /v2/models/model/infer HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
