import { expect, test } from 'vitest';
import { byteSourceFromBytes } from './byte-source.ts';
import { cutCacheOutputs } from './cache-outputs.ts';
import { readOnnxGraph } from './read-onnx-graph.ts';
import { field, modelBytes, tensorInfo } from './testing/index.ts';

const cacheShape = ['batch', 2, 'tokens', 4];

function node(operator: string, inputs: readonly string[], output: string): Uint8Array {
  return field(1, [...inputs.map((name) => field(1, name)), field(2, output), field(4, operator)]);
}

function decoderBytes(nodes: readonly Uint8Array[], outputs = ['logits', 'present']): Uint8Array {
  return modelBytes({
    inputs: [tensorInfo('x', 1, ['batch', 4]), tensorInfo('past', 1, cacheShape)],
    outputs: outputs.map((name) => tensorInfo(name, 1, cacheShape)),
    graphFields: nodes,
  });
}

async function outputsOf(bytes: Uint8Array): Promise<readonly string[]> {
  return (await readOnnxGraph(byteSourceFromBytes(bytes))).outputs.map(({ name }) => name);
}

test('an output that is an input followed by new values is replaced by the new values', async () => {
  const { model, outputs } = await cutCacheOutputs(decoderBytes([node('Concat', ['past', 'new'], 'present')]));
  expect(outputs).toEqual([{ output: 'present', input: 'past', appended: 'new' }]);
  expect(await outputsOf(model)).toEqual(['logits', 'new']);
});

test.each([
  ['another operator', [node('Add', ['past', 'new'], 'present')]],
  ['the new values first', [node('Concat', ['new', 'past'], 'present')]],
  ['three parts', [node('Concat', ['past', 'new', 'more'], 'present')]],
  ['a join that is no output', [node('Concat', ['past', 'new'], 'inside')]],
  ['an input as the new values', [node('Concat', ['past', 'x'], 'present')]],
])('%s is left as it is', async (_, nodes) => {
  const bytes = decoderBytes(nodes);
  expect(await cutCacheOutputs(bytes)).toEqual({ model: bytes, outputs: [] });
});

test('new values that are an output already are not listed twice', async () => {
  const bytes = decoderBytes([node('Concat', ['past', 'new'], 'present')], ['logits', 'present', 'new']);
  expect((await cutCacheOutputs(bytes)).outputs).toEqual([]);
});
