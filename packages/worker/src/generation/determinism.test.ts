/** The short form of `testing/determinism-main.ts`. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { InferenceSession } from '../onnxruntime/onnxruntime.ts';
import { storytellerFile } from '../testing/storyteller-folder.ts';
import { type ReadDecoder, readDecoder } from './read-decoder.ts';
import { checkDeterminism } from './testing/determinism.ts';
import { smallDecoder, smallDecoderTensors } from './testing/small-decoder.ts';

// Some hundred runs of the model, on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
let decoder: ReadDecoder;

beforeAll(async () => {
  decoder = await readDecoder(storytellerFile);
});
const sessions: InferenceSession[] = [];
afterAll(async () => {
  for (const session of sessions) await session.release();
});

async function opened(model: Uint8Array): Promise<InferenceSession> {
  const session = await InferenceSession.create(model, options);
  sessions.push(session);
  return session;
}

test('the bits of a text of the storyteller depend on itself alone', async () => {
  const session = await opened(decoder.model as Uint8Array);
  const report = await checkDeterminism({ decoder, session, stories: 6, tokensMax: 10, rowsMax: 5, seed: 1 });
  expect(report.differences).toEqual([]);
  expect(report.steps).toBeGreaterThan(200);
  expect(report.preemptions).toBeGreaterThan(0);
});

test('a decoder that looks at its neighbours is found out', async () => {
  const session = await opened(smallDecoder('mixed'));
  const defaults = { ...decoder.description.defaults, eosTokenIds: [] };
  const mixed = { ...decoder, tensors: smallDecoderTensors, description: { ...decoder.description, defaults } };
  const report = await checkDeterminism({ decoder: mixed, session, stories: 4, tokensMax: 6, rowsMax: 3, seed: 1 });
  expect(report.differences).not.toEqual([]);
});
