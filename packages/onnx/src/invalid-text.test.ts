import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkedTextBytesMax, hasInvalidText, textDepthMax } from './invalid-text.ts';
import { field, modelBytes } from './testing/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-text-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function isFoundIn(...graphFields: readonly Uint8Array[]): Promise<boolean> {
  const path = join(folder, 'model.onnx');
  writeFileSync(path, modelBytes({ graphFields }));
  return hasInvalidText(path);
}

const latin = Uint8Array.of(0x67, 0xfc);
const node = (...attribute: readonly Uint8Array[]) =>
  field(1, [field(4, 'If'), field(5, [field(1, 'a'), ...attribute])]);

test('UTF-8 texts are not reported, nor are the weights of a tensor', async () => {
  const weights = field(5, [field(2, 1), field(9, latin), field(8, 'w')]);
  expect(await isFoundIn(node(field(9, 'gr\u00fcn'), field(4, '')), field(5, [field(6, 'gr\u00fcn')]), weights)).toBe(
    false,
  );
});

test.each([
  ['an initializer', field(5, [field(2, 8), field(6, 'a'), field(6, latin)])],
  ['an attribute', node(field(4, latin))],
  ['a list in an attribute', node(field(9, 'a'), field(9, latin))],
  ['a tensor in an attribute', node(field(5, [field(6, latin)]))],
  ['a subgraph', node(field(6, [node(field(4, latin))]))],
  ['a text that is too long for one', node(field(4, Buffer.alloc(checkedTextBytesMax + 1, 'a')))],
])('bytes that are not UTF-8 are found in %s', async (_, graphField) => {
  expect(await isFoundIn(graphField)).toBe(true);
});

test('subgraphs that nest too deeply count as holding them', async () => {
  const nested = (depth: number): Uint8Array => (depth === 0 ? node() : node(field(6, [nested(depth - 1)])));
  expect(await isFoundIn(nested(textDepthMax - 1))).toBe(false);
  expect(await isFoundIn(nested(textDepthMax))).toBe(true);
});
