import type { LoadSpec } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { Session } from './engine.ts';
import { lazyEngine } from './lazy-engine.ts';

const spec: LoadSpec = {
  model: 1,
  name: 'm',
  version: '2',
  engine: 'onnxruntime',
  path: '/nowhere',
  inputs: [],
  outputs: [],
  isBatched: false,
  threads: 1,
  isSpinning: false,
};

test('an engine is imported with the first model, which it then loads', async () => {
  const session: Session = { run: () => Promise.reject(new Error('not run')), unload: async () => {} };
  const loaded: LoadSpec[] = [];
  let imports = 0;
  const engine = lazyEngine('onnxruntime', async () => {
    imports += 1;
    return {
      name: 'onnxruntime',
      load: async (given) => {
        loaded.push(given);
        return session;
      },
    };
  });
  expect(engine.name).toBe('onnxruntime');
  expect(imports).toBe(0);
  expect(await engine.load(spec)).toBe(session);
  expect(imports).toBe(1);
  expect(loaded).toEqual([spec]);
});

test('an engine that cannot be imported fails the load with the model, the reason and what to do', async () => {
  const engine = lazyEngine('onnxruntime', () => Promise.reject(new Error('libonnxruntime.so.1: no such file')));
  await expect(engine.load(spec)).rejects.toThrow(
    'model "m" version 2 could not be loaded: the engine "onnxruntime" cannot be imported ' +
      '(libonnxruntime.so.1: no such file); install the packages of the server again, on the system that it runs on',
  );
});

test('an error of the engine itself is passed on unchanged', async () => {
  const refusal = new Error('the model does not fit');
  const engine = lazyEngine('onnxruntime', async () => ({ name: 'onnxruntime', load: () => Promise.reject(refusal) }));
  await expect(engine.load(spec)).rejects.toBe(refusal);
});
