/** An answer of a template has the bytes that writing it in full gives. */
import { type Datatype, datatypes, JsonWriter, type Tensor } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InferAnswer } from '../../data-plane/infer.ts';
import { type AnswerForm, binaryForm, jsonForm } from '../classification/answer-form.ts';
import { AnswerTemplateCache } from './answer-template.ts';
import { resolveRestConfig } from './config.ts';
import { encodeAnswer } from './encode-response.ts';

const limits = resolveRestConfig({});
const asJson: AnswerForm = { listed: new Map(), unlisted: jsonForm };
const ofNumbers = ['FP32', 'FP64', 'INT8', 'UINT16', 'INT32', 'INT64', 'UINT64', 'BOOL'] as const;

function answerOf(outputs: readonly Tensor[], id = ''): InferAnswer {
  return { model: 'a[1]"', version: '1', id, outputs, release: () => {} };
}

function tensorOf(datatype: Exclude<Datatype, 'BYTES'>, count: number, bytes: Uint8Array, name = 'y]['): Tensor {
  const data = new Uint8Array(count * datatypes[datatype].bytes);
  for (let at = 0; at < data.length; at++)
    data[at] = (bytes[at % bytes.length] as number) & (datatype === 'BOOL' ? 1 : 255);
  return { name, datatype, shape: [1, count], data };
}

const writer = new JsonWriter();
const written = (answer: InferAnswer, form = asJson): string =>
  Buffer.concat(encodeAnswer(answer, { form, view: undefined, limits }, new JsonWriter()).pieces).toString();

function templateOf(answer: InferAnswer, form = asJson): AnswerTemplateCache {
  const cache = new AnswerTemplateCache();
  cache.keep(answer, form, encodeAnswer(answer, { form, view: undefined, limits }, new JsonWriter()));
  return cache;
}

test('numbers of every kind are written as in full', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 64 });
  fc.assert(
    fc.property(
      fc.constantFrom(...ofNumbers),
      fc.integer({ min: 1, max: 8 }),
      bytes,
      bytes,
      (datatype, count, one, two) => {
        const cache = templateOf(answerOf([tensorOf(datatype, count, one)]));
        const next = answerOf([tensorOf(datatype, count, two)]);
        const encoded = cache.take(next, writer);
        const json = Buffer.concat(encoded?.pieces ?? []).toString();
        expect(json).toBe(written(next));
        expect(encoded).toMatchObject({ bytes: json.length, jsonBytes: json.length, hasBinary: false });
      },
    ),
    { seed: 110, numRuns: 1000 },
  );
});

test('what was taken stays as it was', () => {
  const cache = templateOf(answerOf([tensorOf('FP32', 4, Uint8Array.of(1, 2, 3))]));
  const answers = [1, 2, 3].map((seed) => answerOf([tensorOf('FP32', 4, Uint8Array.of(seed, 7, 60))]));
  const pieces = answers.map((answer) => cache.take(answer, writer)?.pieces[0] as Uint8Array);
  expect(pieces.map((piece) => Buffer.from(piece).toString())).toEqual(answers.map((answer) => written(answer)));
});

const known = tensorOf('FP32', 4, Uint8Array.of(1, 2, 3));
test.each<[string, InferAnswer]>([
  ['an id', answerOf([known], 'q')],
  ['another model', { ...answerOf([known]), model: 'b' }],
  ['another version', { ...answerOf([known]), version: '2' }],
  ['another name', answerOf([{ ...known, name: 'z' }])],
  ['another datatype', answerOf([{ ...known, datatype: 'INT32' }])],
  ['another shape', answerOf([{ ...known, shape: [2, 2] }])],
  ['more outputs', answerOf([known, known])],
  ['no outputs', answerOf([])],
])('an answer with %s is written in full', (_, answer) => {
  expect(templateOf(answerOf([known])).take(answer, writer)).toBeUndefined();
});

test.each<[string, InferAnswer, AnswerForm]>([
  ['an id', answerOf([known], 'q'), asJson],
  ['text', answerOf([{ name: 'y', datatype: 'BYTES', shape: [1], data: Uint8Array.of(1, 0, 0, 0, 0x5b) }]), asJson],
  ['no elements', answerOf([{ ...known, shape: [0], data: new Uint8Array(0) }]), asJson],
  ['two outputs as JSON', answerOf([known, { ...known, name: 'z' }]), asJson],
  [
    'one output as JSON and one binary',
    answerOf([known, { ...known, name: 'z' }]),
    { listed: new Map([['z', binaryForm]]), unlisted: jsonForm },
  ],
])('of an answer with %s there is no template', (_, answer, form) => {
  expect(templateOf(answer, form).take(answer, writer)).toBeUndefined();
});
