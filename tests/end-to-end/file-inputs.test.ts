/** Files as inputs, as a user sends them: with the command, and as base64 in JSON. */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
const digest = `
import { createHash } from 'node:crypto';
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { file: { datatype: 'BYTES', shape: [1] } },
  outputs: { sha256: { datatype: 'BYTES', shape: [1] } },
  run: ({ inputs }) => ({ sha256: { data: [createHash('sha256').update(inputs.file.data[0]).digest('hex')] } }),
});`;
const models = new ModelRepository();
/** Longer than a slice, and not UTF-8. */
const picture = randomBytes(300_001);
const expected = createHash('sha256').update(picture).digest('hex');
let server: ServerProcess;

beforeAll(async () => {
  models.write('digest/1/pipeline.mjs', digest);
  models.copy(join(repositoryRoot, 'models', 'spotter_tensors'));
  writeFileSync(join(models.path, 'cat.png'), picture);
  writeFileSync(join(models.path, 'frame.raw'), Buffer.alloc(2 * 128 * 128 * 3, 90));
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  await server.stop();
  models.remove();
});

async function infer(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = [millrace, 'infer', ...args, '--url', server.url, '--json'];
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, command, { cwd: models.path })) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

function post(data: unknown): Promise<Response> {
  const inputs = [{ name: 'file', datatype: 'BYTES', shape: [1], data }];
  return fetch(`${server.url}/v2/models/digest/infer`, { method: 'POST', body: JSON.stringify({ inputs }) });
}

test('millrace infer sends a file as the element of a BYTES input', async () => {
  const { stdout } = await infer('digest', '--input', 'file=@cat.png');
  expect(JSON.parse(stdout)).toMatchObject({ outputs: [{ name: 'sha256', data: [expected] }] });
});

test('millrace infer sends a file as the elements of a UINT8 input, as many rows as it holds', async () => {
  const { stdout } = await infer('spotter_tensors', '--input', 'frame=@frame.raw');
  const { outputs } = JSON.parse(stdout) as { outputs: { name: string; shape: number[] }[] };
  expect(outputs.find(({ name }) => name === 'scores')?.shape).toEqual([2, 20]);
});

test('a file that does not fit, and one that is not there, are named', async () => {
  const wrong = await infer('spotter_tensors', '--input', 'frame=@cat.png');
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    'millrace: cat.png has 300001 bytes, but input frame UINT8[?,128,128,3] takes a multiple of 49152; ' +
      'a file holds the elements of the tensor themselves: decode an image first, or serve a model that does\n',
  ]);
  const missing = await infer('digest', '--input', 'file=@dog.png');
  expect([missing.code, missing.stderr]).toEqual([1, 'millrace: dog.png does not exist\n']);
});

test('JSON carries a file as base64, and what is not base64 is refused by the name of its input', async () => {
  const answer = await post([{ b64: picture.toString('base64') }]);
  expect([answer.status, await answer.json()]).toMatchObject([200, { outputs: [{ data: [expected] }] }]);
  const refused = await post([{ b64: `${picture.toString('base64')}!` }]);
  expect([refused.status, await refused.json()]).toEqual([
    400,
    {
      error:
        "element 0 of input 'file' is not base64; write it with the characters A-Z a-z 0-9 + /, padded with =, and without line breaks",
    },
  ]);
});
