import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadSpec, takeBytesElements } from '@millrace/protocol';
import { afterAll, expect, test } from 'vitest';
import type { Session } from '../engine.ts';
import { onnxModelFrom, usedMemory } from '../testing/index.ts';
import { onnxruntimeEngine } from './onnxruntime-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-texts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A model that maps class numbers to names; `grZn` is written as `grün` in Latin-1. */
async function loadNames(...names: readonly string[]): Promise<Session> {
  const model = onnxModelFrom({
    inputs: [{ name: 'class', datatype: 'INT64', shape: ['n'] }],
    outputs: [{ name: 'name', datatype: 'BYTES', shape: ['n'] }],
    nodes: [{ operator: 'Gather', inputs: ['names', 'class'], outputs: ['name'] }],
    constants: [{ name: 'names', datatype: 'BYTES', shape: [names.length], texts: names }],
  });
  const path = join(folder, 'model.onnx');
  writeFileSync(path, Buffer.from(Buffer.from(model).toString('latin1').replace('grZn', 'gr\u00fcn'), 'latin1'));
  const spec: LoadSpec = {
    model: 1,
    name: 'names',
    version: '1',
    engine: 'onnxruntime',
    path,
    inputs: [{ name: 'class', datatype: 'INT64', shape: [-1] }],
    outputs: [{ name: 'name', datatype: 'BYTES', shape: [-1] }],
    isBatched: false,
    threads: 1,
    isSpinning: false,
  };
  return onnxruntimeEngine.load(spec);
}

async function nameOf(session: Session, index: number): Promise<string> {
  const data = new Uint8Array(BigInt64Array.of(BigInt(index)).buffer);
  const inputs = [{ index: 0, shape: [1], data }];
  const { outputs } = await session.run({ inputs, outputs: [0], memory: usedMemory().memory });
  return new TextDecoder().decode(takeBytesElements(outputs[0]?.data as Uint8Array)?.[0]);
}

test('a text of the model that is not UTF-8 fails with the name of the output instead of being changed, and others are returned', async () => {
  const session = await loadNames('blau', 'grZn');
  expect(await nameOf(session, 0)).toBe('blau');
  await expect(nameOf(session, 1)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('element 0 of output "name" is not valid UTF-8'),
  });
  expect(await nameOf(session, 0)).toBe('blau');
  await session.unload();
});

test('U+FFFD is returned where it is part of the model\u2019s text', async () => {
  const session = await loadNames('blau', '\ufffd');
  expect(await nameOf(session, 1)).toBe('\ufffd');
  await session.unload();
});
