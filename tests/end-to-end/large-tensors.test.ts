/** Tensors of 256 MiB through a real server, within its default limits, while others are served beside them. */
import { request } from 'node:http';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

vi.setConfig({ testTimeout: 240_000 });

const MiB = 1024 * 1024;
const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  models.copy(join(repositoryRoot, 'tests/models/identity_uint8'));
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

/** Each number is its own index, so that swapped slices are noticed. */
function numbered(bytes: number): Buffer {
  const numbers = new Uint32Array(bytes / 4);
  for (let index = 0; index < numbers.length; index++) numbers[index] = index;
  return Buffer.from(numbers.buffer);
}

function headOf(data: Buffer): Buffer {
  const inputs = [
    { name: 'INPUT0', datatype: 'UINT8', shape: [1, data.length], parameters: { binary_data_size: data.length } },
  ];
  return Buffer.from(JSON.stringify({ inputs, parameters: { binary_data_output: true } }));
}

/** Without a copy of what is sent, and with one of what comes back: at this size copies are most of the time. */
function identityOf(data: Buffer): Promise<Buffer> {
  const head = headOf(data);
  const headers = {
    'inference-header-content-length': head.length,
    'content-length': head.length + data.length,
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}/v2/models/identity_uint8/infer`, { method: 'POST', headers }, (response) => {
      const body = Buffer.allocUnsafe(Number(response.headers['content-length']));
      let received = 0;
      response.on('data', (chunk: Buffer) => {
        received += chunk.copy(body, received);
      });
      response.once('error', reject).once('end', () => {
        if (response.statusCode !== 200 || received !== body.length) reject(new Error(body.toString('utf8', 0, 300)));
        else resolve(body.subarray(Number(response.headers['inference-header-content-length'])));
      });
    });
    sent.once('error', reject);
    sent.write(head);
    sent.end(data);
  });
}

test('the largest request comes back whole, past the shared memory of its worker, while small ones are answered', async () => {
  // Its head of JSON counts as well.
  const data = numbered(256 * MiB - 4096);
  let isOver: boolean = false;
  const small = (async () => {
    let answered = 0;
    while (!isOver) {
      const inputs = [{ name: 'INPUT0', datatype: 'UINT8' as const, shape: [1, 3], values: [1, 2, 3] }];
      const { outputs } = await inferOverRest(server.url, 'identity_uint8', inputs);
      expect(outputs[0]?.values).toEqual([1, 2, 3]);
      answered += 1;
      // Without a pause it would take the time of the large one.
      await pause(5);
    }
    return answered;
  })();
  const answer = await identityOf(data);
  isOver = true;
  expect(Buffer.compare(answer, data)).toBe(0);
  expect(await small).toBeGreaterThan(3);
});

test('a tensor that fits into shared memory comes back whole, also beside another', async () => {
  const data = [numbered(40 * MiB), numbered(20 * MiB).reverse()];
  const answers = await Promise.all(data.map(identityOf));
  for (const [index, answer] of answers.entries()) expect(Buffer.compare(answer, data[index] as Buffer)).toBe(0);
});

test('a caller that disconnects in the middle of a large request leaves nothing behind', async () => {
  const data = numbered(64 * MiB);
  const head = headOf(data);
  const body = Buffer.concat([head, data]);
  for (let round = 0; round < 3; round++) {
    const session = connect(server.url);
    session.on('error', () => {});
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v2/models/identity_uint8/infer',
      'inference-header-content-length': String(head.length),
    });
    stream.on('error', () => {});
    await new Promise<void>((resolve) => stream.end(body, () => resolve()));
    session.destroy();
  }
  const small = numbered(4096);
  expect(Buffer.compare(await identityOf(small), small)).toBe(0);
});
