import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBytesElements, type LoadSpec, takeBytesElements } from '@millrace/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Session, UnloadableModel } from '../engine.ts';
import { fakeLoadSpec } from '../testing/fake-load-spec.ts';
import { storytellerContextTokens, writeStorytellerFolder } from '../testing/storyteller-folder.ts';
import { warmUpMemory } from '../warm-up/warm-up-memory.ts';
import { generatorEngine } from './generator-engine.ts';

const outputNames = ['text_output', 'token', 'finish_reason', 'prompt_tokens', 'output_tokens'] as const;

let folder: string;
let spec: LoadSpec;
let session: Session;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-generator-'));
  spec = {
    ...fakeLoadSpec,
    name: 'storyteller',
    engine: 'generator',
    path: await writeStorytellerFolder(folder),
    inputs: [
      { name: 'text_input', datatype: 'BYTES', shape: [1] },
      { name: 'sampling_parameters', datatype: 'BYTES', shape: [1], isOptional: true },
    ],
    outputs: [
      { name: 'text_output', datatype: 'BYTES', shape: [1] },
      { name: 'token', datatype: 'INT64', shape: [-1] },
      { name: 'finish_reason', datatype: 'BYTES', shape: [1] },
      { name: 'prompt_tokens', datatype: 'INT32', shape: [1] },
      { name: 'output_tokens', datatype: 'INT32', shape: [1] },
    ],
    isBatched: false,
    concurrency: 4,
    isDecoupled: true,
  };
  session = await generatorEngine.load(spec);
});

afterAll(async () => {
  await session.unload();
  await rm(folder, { recursive: true });
});

interface Answer {
  readonly text: string;
  readonly token: number;
  readonly finish: string;
  readonly counts: readonly number[];
}

async function answersTo(text: string | Uint8Array, parameters?: string): Promise<readonly Answer[]> {
  const inputs = [text, ...(parameters === undefined ? [] : [parameters])].map((element, index) => ({
    index,
    shape: [1],
    data: encodeBytesElements([element]),
  }));
  const run = session.begin?.({ inputs, outputs: outputNames.map((_, index) => index) });
  const answers: Answer[] = [];
  for (;;) {
    const result = await run?.step(warmUpMemory());
    if (result === undefined) return answers;
    const [text_output, token, finish, ...counts] = result.outputs.map(({ data }) => Buffer.from(data));
    const read = (data: Buffer | undefined) => Buffer.from(takeBytesElements(data as Buffer)?.[0] ?? []).toString();
    answers.push({
      text: read(text_output),
      token: Number(token?.readBigInt64LE()),
      finish: read(finish),
      counts: counts.map((data) => data.readInt32LE()),
    });
  }
}

test('a text is continued token by token, and the last answer says why it ended', async () => {
  const answers = await answersTo('Once upon a time', '{"max_tokens": 12}');
  expect(answers).toHaveLength(12);
  expect(answers.map(({ finish }) => finish)).toEqual([...new Array<string>(11).fill(''), 'length']);
  expect(answers.map(({ counts }) => counts[1])).toEqual(answers.map((_, index) => index + 1));
  expect(answers.map(({ text }) => text).join('')).toMatch(/^[\p{L}\p{P}\s]+$/u);
  const stopped = await answersTo('Once upon a time', '{"max_tokens": 12, "stop": ["a"]}');
  expect(stopped.at(-1)?.finish).toBe('stop');
  expect(stopped.map(({ text }) => text).join('')).not.toContain('a');
});

test('the same seed gives the same tokens, in company too; another seed gives others', async () => {
  const asked = (seed: number) => answersTo('A dog', `{"max_tokens": 10, "temperature": 1, "seed": ${seed}}`);
  const alone = await asked(5);
  const [again, other] = await Promise.all([asked(5), asked(6)]);
  expect(again).toEqual(alone);
  expect(other.map(({ token }) => token)).not.toEqual(alone.map(({ token }) => token));
});

test.each([
  ['text that is not UTF-8', Uint8Array.of(0xff), undefined, 'invalid-request', /text_input is not valid UTF-8/],
  ['parameters that are not JSON', 'A', 'warm', 'invalid-request', /sampling_parameters is not JSON/],
  ['parameters that are a list', 'A', '[1]', 'invalid-request', /must be a JSON object/],
  ['an unknown parameter', 'A', '{"temprature": 1}', 'invalid-request', /did you mean temperature/],
  ['too many tokens', 'A', `{"max_tokens": ${storytellerContextTokens}}`, 'invalid-request', /max_tokens/],
  ['a prompt that fills the context', 'word '.repeat(500), undefined, 'request-too-large', /takes 450 together/],
])('%s is refused by name', async (_, text, parameters, code, message) => {
  await expect(answersTo(text, parameters)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test('a text that nobody needs any more is ended, also while its next token is awaited', async () => {
  const run = session.begin?.({ inputs: [{ index: 0, shape: [1], data: encodeBytesElements(['A']) }], outputs: [0] });
  await run?.step(warmUpMemory());
  const last = run?.step(warmUpMemory());
  run?.end();
  await last;
  expect(await run?.step(warmUpMemory())).toBeUndefined();
});

test('the probe of a load is taken over by the next one of the same files, and by no other', async () => {
  const { probe } = session;
  expect(probe).toMatchObject({ layout: 'padded', rowsMax: 32, isExact: true, findings: [] });
  // One that a probe would not find tells whether there was a probe.
  const kept = { ...(probe as NonNullable<typeof probe>), isExact: false };
  for (const [given, expected] of [
    [kept, kept],
    [{ ...kept, key: 'of other files' }, probe],
  ] as const) {
    const again = await generatorEngine.load({ ...spec, probe: given });
    expect(again.probe).toEqual(expected);
    await again.unload();
  }
});

test('a folder that is no decoder, and caches without room for a text, cannot be loaded', async () => {
  await expect(generatorEngine.load({ ...spec, cacheBytesMax: 1000 })).rejects.toThrow(
    /caches may take 1000 bytes.*raise millrace.generator_cache_bytes_max/,
  );
  const broken = join(folder, 'broken');
  const path = await writeStorytellerFolder(broken);
  await writeFile(join(broken, 'tokenizer.json'), '{');
  await expect(generatorEngine.load({ ...spec, path })).rejects.toThrow(UnloadableModel);
});
