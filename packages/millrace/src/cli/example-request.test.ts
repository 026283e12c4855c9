import { spawnSync } from 'node:child_process';
import type { TensorSpec } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { servedModelStatus } from '../testing/server-double.ts';
import { exampleCommand, shellQuoted } from './example-request.ts';

const url = 'http://127.0.0.1:8000';

function input(datatype: TensorSpec['datatype'], shape: number[], more: Partial<TensorSpec> = {}): TensorSpec {
  return { name: 'x', datatype, shape, ...more };
}

/** The arguments as a shell splits them. */
function shellArguments(command: string): string[] {
  const { stdout } = spawnSync('sh', [
    '-c',
    `for word in "$@"; do printf '%s\\0' "$word"; done; set -- ${command}; printf '%s\\0' "$@"`,
  ]);
  return stdout.toString().split('\0').slice(0, -1);
}

test('the smallest ready model is chosen, and its body is valid JSON for it', () => {
  const models = [
    servedModelStatus({ name: 'large', inputs: [input('FP32', [-1, 100])] }),
    servedModelStatus({ name: 'tiny but loading', state: 'loading', inputs: [input('FP32', [1])] }),
    servedModelStatus({
      name: "it's",
      inputs: [
        input('INT64', [-1, 2]),
        input('BYTES', [1], { name: "o'clock" }),
        input('BOOL', [-1, 1], { name: 'flag' }),
        input('FP64', [-1, 50], { name: 'extra', isOptional: true }),
      ],
    }),
  ];
  const args = shellArguments(exampleCommand(url, models) ?? '');
  expect(args.slice(0, 4)).toEqual(['curl', '-s', `${url}/v2/models/it's/infer`, '-d']);
  expect(JSON.parse(args[4] ?? '')).toEqual({
    inputs: [
      { name: 'x', shape: [1, 2], datatype: 'INT64', data: [1, 1] },
      { name: "o'clock", shape: [1], datatype: 'BYTES', data: ['hello'] },
      { name: 'flag', shape: [1, 1], datatype: 'BOOL', data: [true] },
    ],
  });
});

test.each([
  ['large', input('FP32', [-1, 3, 224, 224])],
  ['one that JSON cannot carry', input('FP16', [-1, 4])],
])('%s models are tried with millrace infer', (_title, spec) => {
  expect(exampleCommand(url, [servedModelStatus({ inputs: [spec] })])).toBe(
    'millrace infer mlp --url http://127.0.0.1:8000 --random --binary',
  );
});

test('there is nothing to paste while no model is ready', () => {
  expect(exampleCommand(url, [])).toBeUndefined();
  expect(exampleCommand(url, [servedModelStatus({ state: 'failed' })])).toBeUndefined();
});

test.each(['plain', 'two words', "it's", '$HOME', 'a"b', '', '*', 'back\\slash', 'semi;colon'])(
  '%j survives the shell',
  (text) => {
    expect(shellArguments(shellQuoted(text))).toEqual([text]);
  },
);

test('a model that takes nothing but bytes is chosen only when there is no other', () => {
  const photo = servedModelStatus({ name: 'photo', inputs: [input('BYTES', [1])] });
  const larger = servedModelStatus({ name: 'larger', inputs: [input('FP32', [-1, 9])] });
  expect(exampleCommand(url, [photo, larger])).toContain('/larger/infer');
  expect(exampleCommand(url, [photo])).toContain('/photo/infer');
});

test('a generator gets the first words of a text, unless there is a model that takes a sentence', () => {
  const generator = servedModelStatus({
    name: 'story',
    inputs: [
      input('BYTES', [1], { name: 'text_input' }),
      input('BYTES', [1], { name: 'sampling_parameters', isOptional: true }),
    ],
    outputs: [input('BYTES', [1], { name: 'text_output' }), input('INT64', [-1], { name: 'token' })],
  });
  const numbers = servedModelStatus({ name: 'numbers', inputs: [input('FP32', [1])] });
  expect(shellArguments(exampleCommand(url, [numbers, generator]) ?? '')).toEqual([
    'curl',
    '-s',
    `${url}/v2/models/story/generate`,
    '-d',
    '{"text_input":"Once upon a time"}',
  ]);
  const review = servedModelStatus({ name: 'review', inputs: [input('BYTES', [-1], { name: 'text' })] });
  expect(exampleCommand(url, [generator, review])).toContain('/review/infer');
});

test('a model that takes text is chosen before all others, with a sentence', () => {
  const tiny = servedModelStatus({ name: 'tiny', inputs: [input('FP32', [1])] });
  const both = servedModelStatus({
    name: 'both',
    inputs: [input('BYTES', [1], { name: 'text' }), input('INT32', [2])],
  });
  const review = servedModelStatus({ name: 'review', inputs: [input('BYTES', [-1], { name: 'text' })] });
  const echo = { ...review, name: 'echo', outputs: review.inputs };
  const args = shellArguments(exampleCommand(url, [tiny, echo, both, review]) ?? '');
  expect(args[2]).toBe(`${url}/v2/models/review/infer`);
  expect(JSON.parse(args[4] ?? '')).toEqual({
    inputs: [{ name: 'text', shape: [1], datatype: 'BYTES', data: ['What a wonderful day!'] }],
  });
});
