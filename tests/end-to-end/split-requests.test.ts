/** Requests with more rows than a batch holds, of models without a configuration: over REST and gRPC. */
import { ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInferClient } from '../support/callers.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;
const rows = 1000;
const numbers = Array.from({ length: rows }, (_, row) => row);

beforeAll(async () => {
  const pair = (datatype: 'FP32' | 'BYTES', operator: 'Neg' | 'Identity') =>
    onnxModelFrom({
      inputs: [{ name: 'input', datatype, shape: ['batch', 1] }],
      outputs: [{ name: 'output', datatype, shape: ['batch', 1] }],
      nodes: [{ operator, inputs: ['input'], outputs: ['output'] }],
    });
  models.write('negative/1/model.onnx', pair('FP32', 'Neg')).write('echo/1/model.onnx', pair('BYTES', 'Identity'));
  models.write('bounded/1/model.onnx', pair('FP32', 'Neg')).write('bounded/config.pbtxt', 'max_batch_size: 64');
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

test.each(['json', 'binary'] as const)('1,000 rows are answered in order over REST %s', async (form) => {
  const input = { name: 'input', datatype: 'FP32', shape: [rows, 1], values: numbers } as const;
  const { status, outputs } = await inferOverRest(server.url, 'negative', [input], { form });
  expect(status).toBe(200);
  expect(outputs).toMatchObject([{ name: 'output', shape: [rows, 1] }]);
  expect(outputs[0]?.values).toEqual(numbers.map((number) => 0 - number || -0));
});

test('1,000 texts are answered in order over REST', async () => {
  const texts = numbers.map((number) => 'ö'.repeat(number % 5) + number);
  const input = { name: 'input', datatype: 'BYTES', shape: [rows, 1], values: texts } as const;
  const { outputs } = await inferOverRest(server.url, 'echo', [input], { form: 'binary' });
  expect(outputs).toMatchObject([{ shape: [rows, 1], values: texts }]);
});

test('1,000 rows are answered in order over gRPC', async () => {
  const client = openInferClient(server);
  const request = {
    model_name: 'negative',
    inputs: [{ name: 'input', datatype: 'FP32', shape: [rows, 1] }],
    raw_input_contents: [Buffer.from(Float32Array.from(numbers).buffer)],
  };
  const raw = await new Promise<Buffer>((resolve, reject) => {
    client.ModelInfer(request, (error, answer) => {
      if (error !== null) reject(error);
      else resolve(answer?.raw_output_contents[0] ?? Buffer.alloc(0));
    });
  });
  client.close();
  const values = Array.from({ length: raw.length / 4 }, (_, row) => raw.readFloatLE(4 * row));
  expect(values).toEqual(numbers.map((number) => 0 - number || -0));
});

test('more rows than a configured max_batch_size are refused with Triton’s message', async () => {
  const input = { name: 'input', datatype: 'FP32', shape: [65, 1], values: numbers.slice(0, 65) } as const;
  const { status, error } = await inferOverRest(server.url, 'bounded', [input]);
  expect(status).toBe(400);
  expect(error).toContain("inference request batch-size must be <= 64 for 'bounded'");
});

test('the configuration, the metadata and the metrics say who shares runs', async () => {
  const json = async (path: string) => (await fetch(`${server.url}${path}`)).json() as Promise<Record<string, never>>;
  expect((await json('/v2/models/negative')).parameters).toMatchObject({
    shares_runs: true,
    row_verdict: 'independent',
  });
  const { max_batch_size, parameters } = await json('/v2/models/negative/config');
  expect(max_batch_size).toBe(64);
  expect(parameters).toMatchObject({ 'millrace.batch.verdict': { string_value: 'independent' } });
  const metrics = await (await fetch(server.metricsUrl)).text();
  const series = 'millrace_model_row_verdict{model="negative",version="1",verdict="independent",shares="yes"} 1';
  expect(metrics.split('\n')).toContain(series);
});
