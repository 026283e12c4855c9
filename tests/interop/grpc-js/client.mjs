/** @grpc/grpc-js as a client of the echo service: all four kinds. Usage: node client.mjs PORT; CLIENT_MODULES names the folder of its libraries. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const require = createRequire(path.join(process.env.CLIENT_MODULES, 'package.json'));
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const proto = fileURLToPath(new URL('../echo-service/echo.proto', import.meta.url));
const { Echo } = grpc.loadPackageDefinition(loader.loadSync(proto)).millrace.test.v1;
const client = new Echo(`127.0.0.1:${process.argv[2]}`, grpc.credentials.createInsecure());

function unary(text, metadata = new grpc.Metadata(), options = {}) {
  return new Promise((resolve, reject) => {
    client.Unary({ text }, metadata, options, (error, note) => (error ? reject(error) : resolve(note.text)));
  });
}

async function textsOf(call) {
  const texts = [];
  for await (const note of call) texts.push(note.text);
  return texts;
}

const cases = {
  unary: async () => assert.equal(await unary('grüße'), 'grüße'),
  'many unary calls at once': async () => {
    const texts = Array.from({ length: 500 }, (_, at) => String(at));
    assert.deepEqual(await Promise.all(texts.map((text) => unary(text))), texts);
  },
  'server streaming': async () => assert.deepEqual(await textsOf(client.Split({ text: 'a b c' })), ['a', 'b', 'c']),
  'server streaming of many messages': async () => {
    const texts = await textsOf(client.Split({ text: 'count 20000' }));
    assert.equal(texts.length, 20000);
    assert.equal(texts.at(-1), '19999');
  },
  'client streaming': async () => {
    const text = await new Promise((resolve, reject) => {
      const call = client.Join((error, note) => (error ? reject(error) : resolve(note.text)));
      for (const word of ['a', 'b', 'c']) call.write({ text: word });
      call.end();
    });
    assert.equal(text, 'a b c');
  },
  'bidirectional streaming, in lockstep': async () => {
    const call = client.Chat();
    const seen = [];
    call.write({ text: 'one' });
    for await (const { text } of call) {
      seen.push(text);
      if (seen.length < 3) call.write({ text: ['two', 'three'][seen.length - 1] });
      else call.end();
    }
    assert.deepEqual(seen, ['one', 'two', 'three']);
  },
  errors: async () => {
    await assert.rejects(unary('fail 5 100% lost ü'), { code: grpc.status.NOT_FOUND, details: '100% lost ü' });
    await assert.rejects(textsOf(client.Split({ text: 'a fail' })), { code: grpc.status.OUT_OF_RANGE });
  },
  metadata: async () => {
    const metadata = new grpc.Metadata();
    metadata.add('x-text', 'one');
    metadata.add('x-text', 'two');
    metadata.add('x-bytes-bin', Buffer.from([0, 255]));
    const call = client.Unary({ text: 'metadata' }, metadata, () => {});
    const [leading, trailing] = await Promise.all([
      new Promise((resolve) => call.on('metadata', resolve)),
      new Promise((resolve) => call.on('status', (status) => resolve(status.metadata))),
    ]);
    assert.deepEqual(leading.get('x-text').join(', '), 'one, two');
    assert.deepEqual(trailing.get('x-bytes-bin'), [Buffer.from([0, 255])]);
  },
  'a deadline': async () => {
    const before = Number(await unary('cancelled?'));
    const options = { deadline: Date.now() + 200 };
    await assert.rejects(unary('hang', undefined, options), { code: grpc.status.DEADLINE_EXCEEDED });
    await becomes(async () => Number(await unary('cancelled?')) > before);
  },
  'a cancellation': async () => {
    const before = Number(await unary('cancelled?'));
    const call = client.Split({ text: 'hang' });
    call.on('error', () => {});
    await new Promise((resolve) => call.once('data', resolve));
    call.cancel();
    await becomes(async () => Number(await unary('cancelled?')) > before);
  },
  compression: async () => {
    const options = { 'grpc.default_compression_algorithm': 2 };
    const packed = new Echo(`127.0.0.1:${process.argv[2]}`, grpc.credentials.createInsecure(), options);
    const text = 'words '.repeat(20000);
    const answer = await new Promise((resolve, reject) => {
      packed.Unary({ text }, (error, note) => (error ? reject(error) : resolve(note.text)));
    });
    packed.close();
    assert.equal(answer, text);
  },
  'large messages': async () => {
    const text = 'x'.repeat(3 * 1024 * 1024);
    assert.equal(await unary(text), text);
  },
};

async function becomes(condition) {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (await condition()) return;
    await delay(10);
  }
  throw new Error('it did not happen within five seconds');
}

let passed = 0;
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    passed += 1;
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}:`, error);
  }
}
client.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
