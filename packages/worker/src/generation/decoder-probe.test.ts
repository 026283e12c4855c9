import type { DecodeConfig } from '@millrace/generation';
import { expect, test } from 'vitest';
import { InferenceSession } from '../onnxruntime/onnxruntime.ts';
import { keptProbe, probeDecoder, probeKeyOf } from './decoder-probe.ts';
import { type SmallDecoderRule, smallDecoder, smallDecoderTensors } from './testing/small-decoder.ts';

async function probed(rule: SmallDecoderRule, contextTokensMax = 1000, options: Partial<DecodeConfig> = {}) {
  const session = await InferenceSession.create(smallDecoder(rule), { intraOpNumThreads: 1 });
  try {
    return await probeDecoder(session, smallDecoderTensors, options, contextTokensMax);
  } finally {
    await session.release();
  }
}

test('a decoder that ignores padding and company shares runs', async () => {
  const { config, isExact, findings } = await probed('sum');
  expect({ layout: config.layout, isExact, findings }).toEqual({ layout: 'padded', isExact: true, findings: [] });
  expect(config.rowsMax).toBeGreaterThan(1);
});

test('a decoder that counts padding in is run without padding', async () => {
  const { config, findings } = await probed('mean');
  expect(config.layout).toBe('exact');
  expect(findings).toEqual(['it does not ignore padding, so only texts of one length share runs']);
});

test('a window that is longer than the texts of the probe is found, where padding could reach it', async () => {
  expect((await probed('windowed')).config.layout).toBe('exact');
  // Padded to 128 tokens at most.
  expect((await probed('windowed', 120)).config.layout).toBe('padded');
});

test('a decoder that keeps fewer tokens than it is given, or in another order, is refused by the output', async () => {
  await expect(probed('shortened')).rejects.toThrow(
    'the output present.0.key of the graph has 150 tokens after a run with a cache of 1024 and 1 new ones; expected are all of them, or the new ones',
  );
  await expect(probed('turned')).rejects.toThrow(
    'the output present.0.key of the graph does not begin with the cache that the run was given; expected are new tokens behind it',
  );
});

test('a decoder that reads a prompt in pieces otherwise than at once is told, where prompts may be long enough', async () => {
  expect((await probed('divided')).findings).toEqual([
    'its logits depend on how a prompt is divided, so prompts of more than 64 tokens may continue otherwise than when they are read at once',
  ]);
  expect((await probed('divided', 60)).findings).toEqual([]);
});

test('a decoder that looks at its neighbours runs each text alone', async () => {
  const { config, findings } = await probed('mixed');
  expect(config.rowsMax).toBe(1);
  expect(findings).toEqual(['the bits of a text change with the texts beside it, so each runs alone']);
});

test('a decoder that looks at its neighbours is found without padding too, where only texts of one length meet', async () => {
  expect((await probed('mixed', 1000, { layout: 'exact' })).config.rowsMax).toBe(1);
});

test('a decoder that gives other bits when a run is repeated is not exact', async () => {
  const { isExact, findings } = await probed('noisy');
  expect(isExact).toBe(false);
  expect(findings).toContainEqual(expect.stringMatching(/repeated runs give other bits/));
});

test('what an earlier probe found is used with the memory that the load has', async () => {
  const kept = { key: 'k', layout: 'exact', rowsMax: 1, isExact: false, findings: ['why'] } as const;
  expect(keptProbe(kept, smallDecoderTensors, { cacheBytesMax: 5000 })).toMatchObject({
    config: { layout: 'exact', rowsMax: 1, cacheBytesMax: 5000 },
    isExact: false,
    findings: ['why'],
  });
});

test('the key of a probe names the graph, the engine, the threads and the length of a text', () => {
  const key = probeKeyOf('d1', 1, 450);
  expect(key).toMatch(/^d1 onnxruntime \d+\.\d+\.\d+ \w+ .* threads 1 context 450 probe 2$/);
  expect(new Set([key, probeKeyOf('d2', 1, 450), probeKeyOf('d1', 2, 450), probeKeyOf('d1', 1, 9)]).size).toBe(4);
});

test('the prompts of the probe fit a short context', async () => {
  expect((await probed('sum', 8)).findings).toEqual([]);
});
