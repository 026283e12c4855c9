import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CallOptions, inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository()
  .write('calculator/1/model.onnx', binaryModel('Add'))
  .write('calculator/2/model.onnx', binaryModel('Mul'))
  .write('calculator/3/model.onnx', 'torn')
  .write('calculator/config.pbtxt', 'max_batch_size: 8 version_policy { specific { versions: [ 1, 2, 3, 9 ] } }');
const inputs = [
  { name: 'left', datatype: 'FP32', shape: [1, 2], values: [3, 5] },
  { name: 'right', datatype: 'FP32', shape: [1, 2], values: [4, 6] },
] as const;
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start([models.path, '--no-strict-readiness']);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function compute(options: CallOptions): Promise<readonly unknown[]> {
  const { status, version, outputs } = await inferOverRest(server.url, 'calculator', inputs, options);
  return [status, version, outputs[0]?.values];
}

test.each(['json', 'binary'] as const)(
  'each version answers under its number, the highest without one (%s)',
  async (form) => {
    expect(await compute({ form, version: '1' })).toEqual([200, '1', [7, 11]]);
    expect(await compute({ form, version: '2' })).toEqual([200, '2', [12, 30]]);
    expect(await compute({ form })).toEqual([200, '2', [12, 30]]);
  },
);

test('metadata and readiness are those of the version asked for', async () => {
  const get = (path: string) => fetch(`${server.url}/v2/models/calculator${path}`);
  expect(await (await get('')).json()).toMatchObject({ name: 'calculator', versions: ['1', '2'] });
  const readiness = await Promise.all(
    ['', '/versions/1', '/versions/2', '/versions/3'].map((path) => get(`${path}/ready`)),
  );
  expect(readiness.map(({ ok }) => ok)).toEqual([true, true, true, false]);
});

test('a broken version is reported with its file and refused, and the others serve', async () => {
  const refused = await inferOverRest(server.url, 'calculator', inputs, { version: '3' });
  expect([refused.status, refused.code]).toEqual([503, 'model-not-ready']);
  expect(refused.error).toContain('calculator/3/model.onnx');
  const failed = server.records.find(({ message }) => message === 'model failed; it has never served');
  expect(failed).toMatchObject({ level: 'error', model: 'calculator', version: '3' });
  expect(failed?.reason).toContain('calculator/3/model.onnx');
});

test('Triton: a version that the policy names and that is absent is logged, and the others serve', async () => {
  const refused = await inferOverRest(server.url, 'calculator', inputs, { version: '9' });
  expect([refused.status, refused.code]).toEqual([404, 'unknown-model']);
  expect(server.records).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      field: 'version_policy.specific.versions',
      message: expect.stringMatching(/^names version 9, but there is no folder .*calculator\/9$/),
    }),
  );
});

test('a version that is not there is unknown', async () => {
  const refused = await inferOverRest(server.url, 'calculator', inputs, { version: '4' });
  expect([refused.status, refused.code]).toEqual([404, 'unknown-model']);
});

test('each version has metrics of its own', async () => {
  const answered = (version: string) =>
    server.metric('millrace_request_seconds_count', { model: 'calculator', version });
  const before = [await answered('1'), await answered('2')];
  await compute({ version: '1' });
  await compute({});
  await compute({ version: '2' });
  expect([await answered('1'), await answered('2')]).toEqual([(before[0] as number) + 1, (before[1] as number) + 2]);
});
