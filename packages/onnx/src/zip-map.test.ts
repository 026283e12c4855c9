import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { varint } from '@millrace/protocol';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { byteSourceFromBytes } from './byte-source.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import { readOnnxGraph } from './read-onnx-graph.ts';
import { nameBytesMax } from './read-value-info.ts';
import { zipMapLabelBytesMax, zipMapLabelsMax } from './read-zip-map.ts';
import { field, modelBytes, tensorInfo } from './testing/model-bytes.ts';
import { cutZipMaps, findZipMaps, zipMapsMax } from './zip-map.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-zip-map-'));
afterAll(() => rmSync(folder, { recursive: true }));

function found(bytes: Uint8Array) {
  const path = join(folder, 'model.onnx');
  writeFileSync(path, bytes);
  return findZipMaps(path);
}

function zipMapNode(output: string, labels: Uint8Array, domain = 'ai.onnx.ml'): Uint8Array {
  return field(1, [field(1, 'scores'), field(2, output), field(4, 'ZipMap'), field(5, labels), field(7, domain)]);
}

const numberLabels = Buffer.concat([field(1, 'classlabels_int64s'), field(8, 3), field(8, -7n), field(20, 7)]);
const packedLabels = Buffer.concat([
  field(1, 'classlabels_int64s'),
  field(8, Buffer.concat([varint(300), varint(-1n)])),
]);
const textLabels = Buffer.concat([field(1, 'classlabels_strings'), field(9, 'cat'), field(9, 'dog'), field(20, 8)]);

/** As the converters declare it: a sequence of maps from a number to a float. */
const mapsInfo = (name: string): Uint8Array =>
  Buffer.concat([field(1, name), field(2, [field(4, [field(1, [field(5, [field(1, 7)])])])])]);

const classifier = modelBytes({
  outputs: [tensorInfo('label', 7, ['rows']), mapsInfo('probabilities'), mapsInfo('named')],
  graphFields: [
    zipMapNode('probabilities', numberLabels),
    zipMapNode('named', textLabels),
    zipMapNode('inner', textLabels),
    zipMapNode('label', numberLabels, 'com.example'),
  ],
});

test('finds the graph outputs that a ZipMap makes, with their labels in column order', async () => {
  expect(await found(classifier)).toEqual([
    { output: 'probabilities', scores: 'scores', labels: [3n, -7n] },
    { output: 'named', scores: 'scores', labels: ['cat', 'dog'] },
  ]);
});

test('reads number labels that are packed into one field', async () => {
  const bytes = modelBytes({ outputs: [mapsInfo('p')], graphFields: [zipMapNode('p', packedLabels)] });
  expect(await found(bytes)).toEqual([{ output: 'p', scores: 'scores', labels: [300n, -1n] }]);
});

test('turns each of these outputs into a FP32 tensor of the same name and leaves the rest alone', async () => {
  const cut = await cutZipMaps(classifier);
  const [before, after] = await Promise.all(
    [classifier, cut].map((bytes) => readOnnxGraph(byteSourceFromBytes(bytes))),
  );
  expect(after).toEqual({
    ...before,
    outputs: [
      before?.outputs[0],
      { name: 'probabilities', kind: 'tensor', elementType: 1, shape: undefined },
      { name: 'named', kind: 'tensor', elementType: 1, shape: undefined },
    ],
  });
  expect(await found(cut)).toEqual([]);
  expect(await cutZipMaps(cut)).toBe(cut);
});

test('imports the standard operators where the model does not', async () => {
  const graph = field(7, [zipMapNode('p', textLabels), field(12, mapsInfo('p'))]);
  const mlOnly = Buffer.concat([field(1, 8), graph, field(8, [field(1, 'ai.onnx.ml'), field(2, 3)])]);
  const { opsets } = await readOnnxGraph(byteSourceFromBytes(await cutZipMaps(mlOnly)));
  expect([...opsets]).toEqual([
    ['ai.onnx.ml', 3],
    ['', 13],
  ]);
});

test(`refuses more than ${zipMapLabelsMax} labels`, async () => {
  const labels = (count: number) => Buffer.concat([field(1, 'classlabels_int64s'), field(8, new Uint8Array(count))]);
  const model = (count: number) =>
    modelBytes({ outputs: [mapsInfo('p')], graphFields: [zipMapNode('p', labels(count))] });
  expect((await found(model(zipMapLabelsMax)))[0]?.labels.length).toBe(zipMapLabelsMax);
  await expect(found(model(zipMapLabelsMax + 1))).rejects.toThrow(/more than 1000000 class labels/);
});

test(`refuses more than ${zipMapLabelBytesMax} bytes of labels, and more than ${zipMapsMax} nodes`, async () => {
  const label = field(9, new Uint8Array(nameBytesMax));
  const labels = (count: number) =>
    Buffer.concat([field(1, 'classlabels_strings'), ...Array<Uint8Array>(count).fill(label)]);
  const most = zipMapLabelBytesMax / nameBytesMax;
  const model = (...nodes: Uint8Array[]) => modelBytes({ outputs: [mapsInfo('p')], graphFields: nodes });
  expect((await found(model(zipMapNode('p', labels(most)))))[0]?.labels.length).toBe(most);
  await expect(found(model(zipMapNode('p', labels(most + 1))))).rejects.toThrow(/more than 16777216 bytes of them/);
  const nodes = Array.from({ length: zipMapsMax + 1 }, (_, index) => zipMapNode(`p${index}`, textLabels));
  await expect(found(model(...nodes))).rejects.toThrow(/more than 256 ZipMap nodes/);
});

test('a damaged file is refused or cut, and nothing else happens', async () => {
  const outcome = (bytes: Uint8Array) => cutZipMaps(bytes).catch((error: unknown) => error);
  for (let length = 0; length < classifier.length; length += 1) {
    const result = await outcome(classifier.subarray(0, length));
    if (!(result instanceof Uint8Array)) expect(result).toBeInstanceOf(OnnxFileError);
  }
  const damage = fc.array(fc.tuple(fc.nat({ max: classifier.length - 1 }), fc.nat({ max: 255 })), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(damage, async (changes) => {
      const bytes = Uint8Array.from(classifier);
      for (const [at, value] of changes) bytes[at] = value;
      const result = await outcome(bytes);
      if (!(result instanceof Uint8Array)) expect(result).toBeInstanceOf(OnnxFileError);
    }),
    { seed: 7, numRuns: process.env.TEST_LONG === '1' ? 500 : 100 },
  );
});
