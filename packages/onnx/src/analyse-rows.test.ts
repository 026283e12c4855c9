import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { analyseRows } from './analyse-rows.ts';
import { byteSourceFromBytes } from './byte-source.ts';
import { graphLimits } from './model/graph-limits.ts';
import { readModelProto } from './model/read-model-proto.ts';
import { analyseModel } from './rows/analyse-model.ts';
import { analysisLimits } from './rows/interpreter.ts';
import { field, modelBytes, tensorInfo } from './testing/model-bytes.ts';

const model = (path: string): Uint8Array => readFileSync(new URL(`../../../${path}/model.onnx`, import.meta.url));
const trap = (name: string): Uint8Array =>
  readFileSync(new URL(`../../../tests/oracle/corpus/traps/${name}.onnx`, import.meta.url));
const analyse = (bytes: Uint8Array, limits = graphLimits) => analyseRows(byteSourceFromBytes(bytes), limits);

/** An `If` inside an `If`, so many deep. */
function nested(depth: number): Uint8Array {
  const name = (number: number, text: string): Uint8Array => field(number, text);
  const graph = (inner: Uint8Array[]): Uint8Array[] => [...inner, field(12, [name(1, 'y')])];
  const branch = (attribute: string, body: Uint8Array[]): Uint8Array =>
    field(5, [name(1, attribute), field(6, body), field(20, 5)]);
  let body = graph([field(1, [name(1, 'x'), name(2, 'y'), name(4, 'Relu')])]);
  for (let level = 0; level < depth; level += 1) {
    body = graph([
      field(1, [name(1, 'c'), name(2, 'y'), name(4, 'If'), branch('then_branch', body), branch('else_branch', body)]),
    ]);
  }
  return Buffer.concat([
    field(1, 8),
    field(7, [...body.slice(0, -1), field(11, tensorInfo('x', 1, ['n', 2])), field(12, tensorInfo('y', 1, ['n', 2]))]),
    field(8, [field(2, 17)]),
  ]);
}

describe('the row analysis', () => {
  test.each([
    'tests/models/mlp/1',
    'models/digits_tensors/1',
    'models/sentiment_tensors/1',
    'models/sentiment_tensors/2',
    'models/listener_tensors/1',
    'models/spotter_tensors/1',
    'models/recommender_tensors/1',
    'models/storyteller/1',
  ])('proves %s of the zoo', async (path) => {
    expect(await analyse(model(path))).toEqual({ kind: 'independent' });
  });

  test('names the node that mixes rows, and why', async () => {
    expect(await analyse(trap('cumsum-rows'))).toEqual({
      kind: 'dependent',
      node: 'CumSum (output "y")',
      reason: 'it adds the rows up',
    });
  });

  test('a graph of more nodes than the limit is unknown', async () => {
    const verdict = await analyse(model('models/digits_tensors/1'), { ...graphLimits, nodesMax: 3 });
    expect(verdict).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('more than 3 nodes') });
  });

  test('a graph of more bytes than the limit is unknown', async () => {
    const verdict = await analyse(model('models/digits_tensors/1'), { ...graphLimits, bytesMax: 100 });
    expect(verdict).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('more than 100 bytes') });
  });

  test('subgraphs deeper than the limit are unknown', async () => {
    const verdict = await analyse(nested(6), { ...graphLimits, depthMax: 4 });
    expect(verdict).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('more than 4 deep') });
  });

  test('a graph that takes more steps than the limit is unknown', async () => {
    const read = await readModelProto(byteSourceFromBytes(model('models/digits_tensors/1')));
    const verdict = analyseModel(read, { ...analysisLimits, stepsMax: 3 });
    expect(verdict).toMatchObject({ kind: 'unknown', reason: 'the graph takes more than 3 steps' });
  });

  test('functions that call themselves are unknown', async () => {
    const call = field(1, [field(1, 'x'), field(2, 'y'), field(4, 'Again'), field(7, 'own')]);
    const body = field(7, [field(1, 'x'), field(2, 'y'), field(4, 'Again'), field(7, 'own')]);
    const bytes = Buffer.concat([
      modelBytes({ inputs: [tensorInfo('x', 1, ['n', 2])], outputs: [tensorInfo('y', 1, ['n', 2])] }),
      field(25, [field(1, 'Again'), field(4, 'x'), field(5, 'y'), body, field(10, 'own')]),
    ]);
    const withCall = Buffer.concat([bytes, field(7, [call])]);
    expect(await analyse(withCall)).toMatchObject({ kind: 'unknown' });
  });

  test('damaged files are unknown, whatever is damaged', async () => {
    const originals = [
      model('models/sentiment_tensors/2'),
      trap('loop-state-transposed'),
      trap('function-in-a-function-rows'),
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...originals),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        async (original, changes, length) => {
          const bytes = Uint8Array.from(
            original.subarray(0, length % 3 === 0 ? length % original.length : original.length),
          );
          for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
          const verdict = await analyse(bytes);
          expect(['independent', 'dependent', 'unknown']).toContain(verdict.kind);
        },
      ),
      { seed: 11, numRuns: 300 },
    );
  });
});
