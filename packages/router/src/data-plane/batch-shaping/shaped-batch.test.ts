import { type BatchTensor, elementCount, elementsOf, type Region, type Tensor } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { type BatchShaping, type GeneratedInput, sizeClassOf } from '../../model/batch-shaping.ts';
import type { RunSharing } from '../../model/run-sharing.ts';
import { layOutBatch, splitterOf } from '../batch-layout.ts';
import type { ServedModel } from '../served-model.ts';
import { servedModel } from '../testing/models.ts';
import { inferRequest } from '../testing/requests.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { generatedBytesMax } from './generated-inputs.ts';

const dirty = (bytes: number): Region => ({ bytes: new Uint8Array(bytes).fill(0xee), release: () => {} });

const spec = { name: 'x', datatype: 'INT32' as const, shape: [-1, -1] };
const engine = { inputs: [spec], outputs: [spec], isBatched: true };
const fill = new Uint8Array(Int32Array.of(-1).buffer);

function modelWith(shaping: Partial<BatchShaping>): ServedModel {
  const whole: BatchShaping = {
    inputs: [{ kind: 'equal' }],
    outputs: [{ kind: 'rows' }],
    generated: [],
    padRatioMax: 2,
    engine,
    ...shaping,
  };
  return servedModel([spec], [{ ...spec, name: 'y' }], { shaping: whole });
}

function request(model: ServedModel, ...rows: readonly (readonly number[])[]): ValidInferRequest {
  const data = new Uint8Array(Int32Array.from(rows.flat()).buffer);
  const shape = [rows.length, rows[0]?.length ?? 0];
  return ValidInferRequest.from(
    inferRequest({
      inputs: [{ name: 'x', datatype: 'INT32', shape, data }],
    }),
    model,
  );
}

const int32 = ({ data }: { readonly data: Uint8Array }) => [...elementsOf({ datatype: 'INT32', data })];

/** The answer of a model that returns each input. */
function echoOf(model: ServedModel, inputs: readonly BatchTensor[], requests: readonly ValidInferRequest[]) {
  const outputs = inputs.slice(0, 1);
  const answer = { kind: 'answered' as const, batch: 1, outputs, region: dirty(0), runMicros: 1 };
  const rows = requests.reduce((sum, one) => sum + one.rows, 0);
  const splitter = splitterOf(model, answer, rows, requests);
  let begin = 0;
  return requests.map((one): Pick<Tensor, 'shape'> & { values: readonly number[] } => {
    const [tensor] = splitter.rows([0], begin, begin + one.rows);
    begin += one.rows;
    return { shape: tensor?.shape ?? [], values: int32(tensor as Tensor) };
  });
}

describe('padded inputs', () => {
  const model = modelWith({
    inputs: [{ kind: 'padded', fill }],
    outputs: [{ kind: 'cut', cuts: [{ axis: 1, input: 0, inputAxis: 1 }] }],
  });

  test('are as long as the longest of the batch, and answers are cut back to each request', () => {
    const requests = [request(model, [1, 2, 3]), request(model, [4, 5], [6, 7]), request(model, [8, 9, 10])];
    const { inputs } = layOutBatch(model, requests, dirty);
    expect(inputs[0]?.shape).toEqual([4, 3]);
    expect(int32(inputs[0] as BatchTensor)).toEqual([1, 2, 3, 4, 5, -1, 6, 7, -1, 8, 9, 10]);
    expect(echoOf(model, inputs, requests)).toEqual([
      { shape: [1, 3], values: [1, 2, 3] },
      { shape: [2, 2], values: [4, 5, 6, 7] },
      { shape: [1, 3], values: [8, 9, 10] },
    ]);
  });

  test('of equal length are laid out without padding, and the answer is not copied', () => {
    const requests = [request(model, [1, 2]), request(model, [3, 4])];
    const { inputs } = layOutBatch(model, requests, dirty);
    expect(int32(inputs[0] as BatchTensor)).toEqual([1, 2, 3, 4]);
    expect(echoOf(model, inputs, requests)[1]).toEqual({ shape: [1, 2], values: [3, 4] });
  });

  test('share a batch only where their lengths are within the ratio', () => {
    const groupOf = (length: number) => request(model, new Array<number>(length).fill(0)).group;
    expect(groupOf(4)).toBe(groupOf(7));
    expect(groupOf(4)).not.toBe(groupOf(8));
    for (let size = 1; size < 300; size++) {
      const partners = Array.from({ length: 900 }, (_, other) => other + 1).filter(
        (other) => sizeClassOf(other, 1.5) === sizeClassOf(size, 1.5),
      );
      expect(Math.max(...partners) / Math.min(...partners)).toBeLessThanOrEqual(1.5);
    }
  });
});

describe('ragged inputs', () => {
  const model = modelWith({ inputs: [{ kind: 'ragged' }], outputs: [{ kind: 'scattered', input: 0 }] });

  test('are one list of all elements, and a scattered output is split by the shapes of the input', () => {
    const requests = [request(model, [1, 2, 3]), request(model, [4]), request(model, [5, 6], [7, 8])];
    expect(new Set(requests.map(({ group }) => group)).size).toBe(1);
    const { inputs } = layOutBatch(model, requests, dirty);
    expect(inputs[0]?.shape).toEqual([8]);
    expect(int32(inputs[0] as BatchTensor)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(echoOf(model, inputs, requests)).toEqual([
      { shape: [1, 3], values: [1, 2, 3] },
      { shape: [1, 1], values: [4] },
      { shape: [2, 2], values: [5, 6, 7, 8] },
    ]);
  });

  test('a scattered output of another length fails with an error that says what to correct', () => {
    const requests = [request(model, [1, 2])];
    const output = { index: 0, shape: [3], data: new Uint8Array(12) };
    expect(() => echoOf(model, [output], requests)).toThrow('for a batch of 2 elements; correct batch_output');
  });

  test.each<[GeneratedInput['kind'], readonly number[], readonly number[]]>([
    ['BATCH_ELEMENT_COUNT', [2], [3, 4]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT', [2], [3, 7]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', [3], [0, 3, 7]],
    ['BATCH_MAX_ELEMENT_COUNT_AS_SHAPE', [4], [0, 0, 0, 0]],
    ['BATCH_ITEM_SHAPE', [3, 1], [3, 2, 2]],
    ['BATCH_ITEM_SHAPE_FLATTEN', [3], [3, 2, 2]],
  ])('%s describes the shapes of the batch', (kind, shape, values) => {
    const generating = modelWith({ inputs: [{ kind: 'ragged' }], generated: [{ kind, datatype: 'INT32', source: 0 }] });
    const requests = [request(generating, [1, 2, 3]), request(generating, [4, 5], [6, 7])];
    const tensor = layOutBatch(generating, requests, dirty).inputs[1] as BatchTensor;
    expect(tensor).toMatchObject({ index: 1, shape });
    expect(int32(tensor)).toEqual(values);
  });

  test('a generated input has the datatype that the model takes', () => {
    const valuesAs = (datatype: 'INT64' | 'FP32') => {
      const generated = [{ kind: 'BATCH_ELEMENT_COUNT' as const, datatype, source: 0 }];
      const generating = modelWith({ inputs: [{ kind: 'ragged' }], generated });
      const { data } = layOutBatch(generating, [request(generating, [1, 2, 3])], dirty).inputs[1] as BatchTensor;
      return [...elementsOf({ datatype, data })];
    };
    expect(valuesAs('INT64')).toEqual([3n]);
    expect(valuesAs('FP32')).toEqual([3]);
  });

  const proven: RunSharing = {
    sharesRuns: true,
    isGuessed: true,
    verdict: { kind: 'independent' },
    reason: '',
    advice: '',
  };
  const modelOfAnyRows = (kind: GeneratedInput['kind']): ServedModel => {
    const { shaping } = modelWith({ generated: [{ kind, datatype: 'INT64', source: 0 }] });
    const view = { sharing: proven, ...(shaping && { shaping }) };
    return servedModel([spec], [{ ...spec, name: 'y' }], view, { queueBytesMax: 1e9 });
  };
  const ofShape = (model: ServedModel, shape: readonly number[]): ValidInferRequest => {
    const data = new Uint8Array(4 * elementCount(shape));
    return ValidInferRequest.from(inferRequest({ inputs: [{ name: 'x', datatype: 'INT32', shape, data }] }), model);
  };

  test.each<[GeneratedInput['kind'], readonly number[]]>([
    // Without elements a shape may have any number of rows.
    ['BATCH_ITEM_SHAPE', [2 ** 40, 0]],
    ['BATCH_ITEM_SHAPE_FLATTEN', [generatedBytesMax / 8 + 1, 0]],
    ['BATCH_MAX_ELEMENT_COUNT_AS_SHAPE', [1, generatedBytesMax / 8 + 1]],
  ])('a request for which %s would take too much memory is refused', (kind, shape) => {
    expect(() => ofShape(modelOfAnyRows(kind), shape)).toThrow(
      expect.objectContaining({
        code: 'request-too-large',
        message: expect.stringMatching(
          /input 'x' has shape \[\d+,\d+\], for which the BATCH_\w+ of model 'm' would have \d+ bytes, more than 67108864 \(generatedBytesMax\); send fewer or smaller rows/,
        ),
      }),
    );
  });

  test('what many rows generate is written in slices', () => {
    const model = modelOfAnyRows('BATCH_ITEM_SHAPE');
    const rows = 2 ** 20;
    const { inputs, slices } = layOutBatch(model, [ofShape(model, [rows, 0])], dirty);
    let turns = 1;
    while (slices?.next().done === false) turns += 1;
    expect(turns).toBeGreaterThan(8);
    const [, generated] = inputs as readonly BatchTensor[];
    expect(generated?.shape).toEqual([rows, 1]);
    expect(generated?.data.length).toBe(8 * rows);
    expect(generated?.data.every((byte) => byte === 0)).toBe(true);
  });

  test('a request that is split may have more rows, because its parts have few', () => {
    const request = ofShape(modelOfAnyRows('BATCH_ITEM_SHAPE'), [generatedBytesMax / 8 + 1, 1]);
    expect(request.isSplit).toBe(true);
  });
});
