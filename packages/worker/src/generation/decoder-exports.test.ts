import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBytesElements, type LoadSpec, takeBytesElements } from '@millrace/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Session, UnloadableModel } from '../engine.ts';
import { fakeLoadSpec } from '../testing/fake-load-spec.ts';
import { warmUpMemory } from '../warm-up/warm-up-memory.ts';
import { generatorEngine } from './generator-engine.ts';
import {
  continuation,
  type DecoderExport,
  type ExportedFiles,
  letterTokenizer,
  writeDecoderExport,
} from './testing/decoder-exports.ts';

let folder: string;
let session: Session | undefined;
let findings: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-decoder-'));
  findings = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    findings += String(text);
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await session?.unload();
  session = undefined;
  await rm(folder, { recursive: true });
});

async function loaded(form: DecoderExport, files?: ExportedFiles, more: Partial<LoadSpec> = {}): Promise<Session> {
  session = await generatorEngine.load({
    ...fakeLoadSpec,
    name: 'letters',
    engine: 'generator',
    path: await writeDecoderExport(folder, form, files),
    inputs: [
      { name: 'text_input', datatype: 'BYTES', shape: [1] },
      { name: 'sampling_parameters', datatype: 'BYTES', shape: [1], isOptional: true },
    ],
    outputs: [{ name: 'text_output', datatype: 'BYTES', shape: [1] }],
    isBatched: false,
    concurrency: 4,
    isDecoupled: true,
    ...more,
  });
  return session;
}

async function told(text: string, parameters: object): Promise<string> {
  const inputs = [text, JSON.stringify(parameters)].map((element, index) => ({
    index,
    shape: [1],
    data: encodeBytesElements([element]),
  }));
  const run = session?.begin?.({ inputs, outputs: [0] });
  let output = '';
  for (;;) {
    const answer = await run?.step(warmUpMemory());
    if (answer === undefined) return output;
    output += Buffer.from(takeBytesElements(answer.outputs[0]?.data as Uint8Array)?.[0] ?? []).toString();
  }
}

/** Of unequal lengths: some share a run, one is read in several pieces, and two grow over the end of a padded cache. */
const prompts = ['a', 'ddg', 'ccg', 'afg', 'bef', 'be'.repeat(30), 'ad'.repeat(39)];

test.each<[string, DecoderExport, ExportedFiles]>([
  ['with a cache', {}, {}],
  ['with a cache and positions', { hasPositions: true }, {}],
  ['without a cache', { cache: 'none' }, {}],
  ['without a cache and generation_config.json', { cache: 'none' }, { 'generation_config.json': undefined }],
  [
    'without any file but the tokenizer',
    { cache: 'none' },
    { 'generation_config.json': undefined, 'config.json': undefined, 'tokenizer_config.json': undefined },
  ],
  ['without tokenizer_config.json', {}, { 'tokenizer_config.json': undefined }],
  ['merged, with use_cache_branch', { cache: 'merged' }, {}],
  ['with 16 bits', { weights: 'FP16' }, {}],
  ['with weights of 8 bits', { weights: 'INT8' }, {}],
  ['with group query attention', { cache: 'grouped' }, {}],
  ['with weights in several files', { externalFiles: ['model.onnx_data', 'model.onnx_data_1'] }, {}],
  ['with the fixed batch size 1', { rows: 1 }, {}],
  ['with the fixed sequence length 1', { tokens: 1 }, {}],
  ['with both fixed to 1', { rows: 1, tokens: 1 }, {}],
  ['with the vocabulary in config.json alone', { vocabulary: 'vocabulary' }, {}],
])('an export %s gives the texts that its definition says, alone and in company', async (_, form, files) => {
  await loaded(form, files);
  const parameters = { max_tokens: 12, temperature: 0 };
  const expected = prompts.map((prompt) => continuation(prompt, 12));
  expect(await Promise.all(prompts.map((prompt) => told(prompt, parameters)))).toEqual(expected);
  expect(await told(prompts[1] as string, parameters)).toBe(expected[1]);
  expect(session?.probe?.isExact).toBe(true);
});

test.each<[DecoderExport, string]>([
  [{ rows: 1 }, 'its graph has the fixed batch size 1, so each text runs alone'],
  [{ tokens: 1 }, 'its graph has the fixed sequence length 1, so prompts are read token by token'],
  [{ cache: 'none' }, 'its graph has no cache, so every token takes as long as reading all of its text'],
])('the log says what %j costs', async (form, finding) => {
  await loaded(form, { 'generation_config.json': '{"eos_token_id": 7}' });
  expect(findings).toBe(`generator "letters" version 1: ${finding}\n`);
});

test('the log says that no token ends a text', async () => {
  await loaded({}, { 'generation_config.json': undefined });
  expect(findings).toMatch(/^generator "letters" version 1: no file beside it names an end-of-text token/);
});

test('several end-of-text tokens: the first of them that comes ends a text', async () => {
  const whole = continuation('ddg', 12);
  const ends = [whole[2], whole[4]].map((letter) => 'abcdefgh'.indexOf(letter as string));
  await loaded({}, { 'generation_config.json': JSON.stringify({ do_sample: false, eos_token_id: ends }) });
  const firstEnd = [...whole].findIndex((letter) => ends.includes('abcdefgh'.indexOf(letter)));
  expect(await told('ddg', { max_tokens: 12 })).toBe(whole.slice(0, firstEnd));
});

test.each<[string, DecoderExport, ExportedFiles, RegExp]>([
  [
    'a fixed batch size of 4',
    { rows: 4 },
    {},
    /model\.onnx: input input_ids has the fixed batch size 4; export it again with that size free, or 1/,
  ],
  ['a fixed sequence length', { tokens: 16 }, {}, /model\.onnx: input input_ids has the fixed sequence length 16/],
  [
    'a fixed sequence length and no cache',
    { cache: 'none', tokens: 1 },
    {},
    /input_ids has the fixed sequence length 1; export it again with that size free$/,
  ],
  [
    'a cache of fixed length',
    { pastTokens: 128 },
    {},
    /model\.onnx: input past_key_values\.0\.key has the fixed cache length 128/,
  ],
  ['a broken config.json', {}, { 'config.json': '{"vocab_size": 8,' }, /config\.json: is not JSON/],
  [
    'a broken generation_config.json',
    {},
    { 'generation_config.json': '[]' },
    /generation_config\.json: holds no JSON object/,
  ],
  [
    'a wrong value in generation_config.json',
    {},
    { 'generation_config.json': '{"top_p": 2}' },
    /generation_config\.json: top_p is 2/,
  ],
  ['a broken tokenizer_config.json', {}, { 'tokenizer_config.json': '{' }, /tokenizer_config\.json: is not JSON/],
  ['a broken tokenizer', {}, { 'tokenizer.json': '{}' }, /tokenizer\.json: has no model/],
  [
    'the tokenizer of another model',
    {},
    { 'tokenizer.json': letterTokenizer('abcdefghijk') },
    /tokenizer\.json: has tokens with ids up to 10, and the vocabulary of the graph has 8 tokens/,
  ],
  [
    'an end-of-text token of another model',
    {},
    { 'generation_config.json': '{"eos_token_id": [50256]}' },
    /generation_config\.json: eos_token_id is 50256, and the vocabulary of the graph has 8 tokens/,
  ],
  [
    'an end-of-text token of another model in config.json',
    {},
    { 'config.json': '{"eos_token_id": 9}' },
    /: config\.json: eos_token_id is 9/,
  ],
  [
    'the vocabulary of another model in config.json',
    { vocabulary: 'vocabulary' },
    { 'config.json': '{"vocab_size": 6}', 'tokenizer.json': letterTokenizer('abcdef') },
    /logits of the graph has 8 values for a token.*config\.json \(vocab_size\) has 6 tokens/,
  ],
  [
    'more tokens in the head of the graph than it takes',
    { vocabulary: 'vocabulary' },
    { 'config.json': '{"vocab_size": 9}', 'tokenizer.json': letterTokenizer('abcdefghi') },
    /model\.onnx: a trial run with tokens from 0 to 8 failed.*out of data bounds/,
  ],
])('a folder with %s says so, and is not tried again', async (_, form, files, message) => {
  const failure = await loaded(form, files).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UnloadableModel);
  expect((failure as Error).message).toMatch(message);
});

test('a text with an added token that the graph does not have is refused by the token', async () => {
  await loaded({}, { 'tokenizer.json': letterTokenizer('abcdefgh', ['<image>']) });
  expect(await told('ddg', { max_tokens: 3 })).toBe(continuation('ddg', 3));
  await expect(told('b<image>', {})).rejects.toMatchObject({
    code: 'invalid-request',
    message: expect.stringMatching(/added token '<image>' with the id 8, and the vocabulary of the model has 8 tokens/),
  });
});
