/** The models that `npm start` serves, asked as a newcomer asks them: sentences, pictures, recordings and names, no tensors. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { inferUrl } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { sampleAnswers, sampleFile } from '../support/samples.ts';
import { ServerProcess } from '../support/server-process.ts';
import { mustBeWav, wavFile } from '../support/wav-file.ts';

// A story and a recording are hundreds of calls each, on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([join(repositoryRoot, 'models')]);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
});

interface Answer {
  readonly status: number;
  readonly error: string | undefined;
  readonly outputs: Readonly<Record<string, readonly unknown[]>>;
}

async function post(url: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', body, headers });
  const { error, outputs = [] } = (await response.json()) as {
    error?: string;
    outputs?: readonly { name: string; data: readonly unknown[] }[];
  };
  return { status: response.status, error, outputs: Object.fromEntries(outputs.map(({ name, data }) => [name, data])) };
}

/** `curl --data-binary @FILE -H 'Inference-Header-Content-Length: 0' -H 'Accept: application/json'` */
function sendFile(model: string, file: Uint8Array): Promise<Answer> {
  const headers = { 'inference-header-content-length': '0', accept: 'application/json' };
  return post(inferUrl(server.url, model), file, headers);
}

/** `curl -d '{"inputs":[…]}'` with texts. */
function sendTexts(model: string, inputs: Readonly<Record<string, readonly string[]>>, version = ''): Promise<Answer> {
  const written = Object.entries(inputs).map(([name, data]) => ({
    name,
    datatype: 'BYTES',
    shape: [data.length],
    data,
  }));
  return post(inferUrl(server.url, model, version), JSON.stringify({ inputs: written }));
}

test('a newcomer sees seven names to try, and the networks behind the pipelines', async () => {
  const response = await fetch(`${server.url}/v2/repository/index`, { method: 'POST' });
  const names = new Set(((await response.json()) as { name: string }[]).map(({ name }) => name));
  const networks = ['digits', 'listener', 'recommender', 'sentiment', 'spotter'];
  expect([...names].sort()).toEqual(
    [...networks, ...networks.map((name) => `${name}_tensors`), 'sentiment_opinions', 'storyteller'].sort(),
  );
});

describe('sentiment', () => {
  const reviews = ['The soup was wonderful.', 'The soup was not wonderful.'];

  test('says of each sentence what it thinks, by the version that is asked', async () => {
    const careful = await sendTexts('sentiment', { text: reviews });
    expect(careful.outputs.label).toEqual(['positive', 'negative']);
    expect(careful.outputs.probability?.every((value) => (value as number) > 0.9)).toBe(true);
    // Version 1 only counts words.
    expect((await sendTexts('sentiment', { text: reviews }, '1')).outputs.label).toEqual(['positive', 'positive']);
  });

  test('both versions answer at once in sentiment_opinions', async () => {
    const { outputs } = await sendTexts('sentiment_opinions', { text: reviews });
    expect(outputs).toEqual({ quick: ['positive', 'positive'], careful: ['positive', 'negative'] });
  });

  test('takes a plain sentence as the whole body, and on the command line', async () => {
    const sentence = Buffer.from(reviews[1] as string);
    expect((await sendFile('sentiment', sentence)).outputs.label).toEqual(['negative']);
    expect(await commandLine('sentiment', `text=${JSON.stringify(reviews)}`)).toMatch(/label.*positive.*negative/s);
  });

  test('refuses what is no review', async () => {
    expect(await sendTexts('sentiment', { text: ['good', ' \n'] })).toMatchObject({
      status: 400,
      error: 'text[1] is empty; send a review, such as "The soup was wonderful."',
    });
    expect(await sendTexts('sentiment', { text: [] })).toMatchObject({ status: 400 });
    expect(await sendTexts('sentiment', { text: new Array<string>(65).fill('good') })).toMatchObject({
      status: 400,
      error: "input 'text' has 65 reviews, more than 64; send several requests",
    });
    expect(await sendFile('sentiment', Uint8Array.of(0xc3, 0x28))).toMatchObject({
      status: 400,
      error: 'text[0] is not valid UTF-8; send text',
    });
  });
});

async function commandLine(model: string, input: string): Promise<string> {
  const args = [millrace, 'infer', model, '--input', input, '--url', server.url];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout;
}

test('digits reads a photograph', async () => {
  const { outputs } = await sendFile('digits', sampleFile('three.png'));
  expect(outputs).toMatchObject({ label: ['three'], digit: [3] });
  expect(outputs.probability?.[0]).toBeGreaterThan(0.8);
});

test('spotter finds the shapes of a picture, with boxes in its own pixels', async () => {
  const { outputs } = await sendFile('spotter', sampleFile('shapes.jpg'));
  expect([...(outputs.label as string[])].sort()).toEqual(sampleAnswers.shapes.map(({ label }) => label).sort());
  for (const { label, box } of sampleAnswers.shapes) {
    const at = (outputs.label as string[]).indexOf(label) * 4;
    const found = (outputs.box as number[]).slice(at, at + 4);
    // The network sees 128 pixels of 480: its own pixel is almost four of these.
    for (const [edge, value] of found.entries()) expect(Math.abs(value - (box[edge] as number))).toBeLessThan(12);
  }
});

test.each(['digits', 'spotter'])('%s refuses a file that is no picture', async (model) => {
  expect(await sendFile(model, Buffer.from('hello'))).toMatchObject({
    status: 400,
    error: "input 'image' cannot be decoded: it is not a JPEG, PNG, WebP, GIF, AVIF or TIFF file",
  });
});

describe('listener', () => {
  test('hears the commands of a recording', async () => {
    const { outputs } = await sendFile('listener', sampleFile('commands.wav'));
    expect(outputs.word).toEqual(['left', 'stop']);
    const [left = 0, stop = 0] = outputs.seconds as number[];
    expect(left).toBeGreaterThan(0.6);
    expect(stop).toBeGreaterThan(left);
  });

  test('hears them in stereo at another rate, and when the recording ends with the word', async () => {
    const { samples, rate } = mustBeWav(sampleFile('commands.wav'));
    const firstWord = samples.subarray(0, Math.round(1.05 * rate));
    const doubled = Float32Array.from({ length: firstWord.length * 2 }, (_, index) => {
      const [before = 0, after = 0] = firstWord.subarray(Math.floor(index / 2), Math.floor(index / 2) + 2);
      return index % 2 === 0 ? before : (before + after) / 2;
    });
    const file = wavFile(doubled, { rate: 2 * rate, channels: 2, encoding: 3, bits: 32 });
    expect((await sendFile('listener', file)).outputs.word).toEqual(['left']);
  });

  test('refuses other files and long recordings with what to do', async () => {
    expect(await sendFile('listener', Buffer.from('ID3 something'))).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^input 'audio' is not a WAV file \(it has 13 bytes\); send a WAV file, .*ffmpeg/),
    });
    const long = wavFile(new Float32Array(21 * 8000), { rate: 8000, channels: 1, encoding: 1, bits: 8 });
    expect(await sendFile('listener', long)).toMatchObject({
      status: 400,
      error: "input 'audio' is 21.0 s long, more than 20 s; send it in parts",
    });
  });
});

describe('recommender', () => {
  const seen = ['basic rustic apron by Tarn', 'basic rustic teapot by Halm', 'basic rustic teapot by Sorrel'];

  test('recommends items by name, likely ones first', async () => {
    const { outputs } = await sendTexts('recommender', { items: seen });
    expect(new Set(outputs.item).size).toBe(outputs.item?.length);
    expect((outputs.item as string[]).filter((name) => name.includes('teapot')).length).toBeGreaterThan(5);
    const probabilities = outputs.probability as number[];
    expect(probabilities).toEqual(probabilities.toSorted((left, right) => right - left));
    expect(await commandLine('recommender', `items=${JSON.stringify(seen)}`)).toContain('teapot');
  });

  test('what was done with an item counts', async () => {
    const [apron = '', ...teapots] = seen;
    const bought = await sendTexts('recommender', { items: [`bought: ${apron}`, ...teapots] });
    expect(bought.status).toBe(200);
    expect(bought.outputs).not.toEqual((await sendTexts('recommender', { items: seen })).outputs);
  });

  test('refuses an unknown item with near names', async () => {
    expect(await sendTexts('recommender', { items: [...seen, 'bought: Basic rustc teapot by Halm'] })).toMatchObject({
      status: 400,
      error: expect.stringMatching(
        /^items\[3\] is "Basic rustc teapot by Halm", which the shop does not have; did you mean "basic rustic teapot by Halm", /,
      ),
    });
    expect(await sendTexts('recommender', { items: [] })).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^input 'items' has no element; send names of items, such as "/),
    });
  });
});

describe('storyteller', () => {
  const [{ prompt, text } = { prompt: '', text: '' }, request = { prompt: '', text: '' }] = sampleAnswers.stories;

  async function generated(body: Readonly<Record<string, unknown>>, call = 'generate'): Promise<Response> {
    const url = `${server.url}/v2/models/storyteller/${call}`;
    return fetch(url, { method: 'POST', body: JSON.stringify(body) });
  }

  test('continues an opening to its end, as the code of its training does', async () => {
    const { outputs } = await sendTexts('storyteller', { text_input: [prompt] });
    expect(`${prompt}${String(outputs.text_output)}`).toBe(text);
    expect(outputs.finish_reason).toEqual(['stop']);
  });

  test('tells the story of a request, also where the period and the empty line behind it are missing', async () => {
    const story = request.text.slice(request.prompt.length);
    const whole = (await (await generated({ text_input: request.prompt })).json()) as { text_output: string };
    expect(whole.text_output).toBe(story);
    const short = await generated({ text_input: request.prompt.trim().replace(/\.$/, '') });
    expect(((await short.json()) as { text_output: string }).text_output.replace(/^\.?\s+/, '')).toBe(story);
  });

  test('gives an event for each token, and varies with a temperature and a seed', async () => {
    const events = async (parameters: object): Promise<string> => {
      const response = await generated({ text_input: prompt, max_tokens: 40, ...parameters }, 'generate_stream');
      const parts = (await response.text()).split('\n\n').filter((event) => event !== '');
      expect(parts).toHaveLength(40);
      return parts
        .map((part) => (JSON.parse(part.replace(/^data: /, '')) as { text_output: string }).text_output)
        .join('');
    };
    const [plain, warm, again] = [
      await events({}),
      await events({ temperature: 0.8, seed: 3 }),
      await events({ temperature: 0.8, seed: 3 }),
    ];
    expect(text.slice(prompt.length).startsWith(plain)).toBe(true);
    expect(warm).not.toBe(plain);
    expect(again).toBe(warm);
  });

  test('is asked on the command line with its one input', async () => {
    const printed = await commandLine('storyteller', `text_input=${prompt}`);
    expect(printed).toContain('text_output BYTES[1]');
    for (const line of text.slice(prompt.length).split('\n')) expect(printed).toContain(line);
  });

  test('refuses a text that leaves no room for a story', async () => {
    expect(await sendTexts('storyteller', { text_input: ['word '.repeat(500)] })).toMatchObject({
      status: 413,
      error: expect.stringMatching(/^text_input has \d+ tokens, and the model takes 450 together/),
    });
  });
});

describe('the pages that newcomers read', () => {
  const commandsOf = (page: string): readonly string[] =>
    readFileSync(join(repositoryRoot, page), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('curl -s '));
  const shown = commandsOf('docs/models.md');

  test('show a command for each model, the same on both pages', () => {
    const asked = shown.map((command) => /\/v2\/models\/(\w+)\/(?:infer|generate) /.exec(command)?.[1]);
    expect(asked.toSorted()).toEqual([
      'digits',
      'listener',
      'recommender',
      'sentiment',
      'sentiment_opinions',
      'spotter',
      'storyteller',
    ]);
    const onFirstPage = commandsOf('README.md');
    expect(onFirstPage).toHaveLength(6);
    expect(onFirstPage.filter((command) => !shown.includes(command))).toEqual([]);
  });

  test('show the story that the command for it tells', () => {
    const quoted = readFileSync(join(repositoryRoot, 'docs/models.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('>'))
      .map((line) => line.slice(2))
      .join(' ');
    const { prompt, text } = sampleAnswers.stories[1] ?? { prompt: '', text: '' };
    expect(quoted.replace(/\s+/g, ' ')).toBe(text.slice(prompt.length).replace(/\s+/g, ' '));
    expect(shown.some((command) => command.includes(JSON.stringify(prompt.trim())))).toBe(true);
  });

  test.each(shown)('%s is answered when it is pasted', async (command) => {
    const pasted = command.replace('http://127.0.0.1:8000', server.url);
    const { stdout } = await promisify(execFile)('sh', ['-c', pasted], { cwd: repositoryRoot });
    const answer = JSON.parse(stdout) as { error?: string; outputs?: { data?: unknown[] }[]; text_output?: string };
    expect(answer.error).toBeUndefined();
    if (command.includes('/generate ')) return expect(answer.text_output).toMatch(/^\W+[A-Z]\w+ .{200}/s);
    const { outputs = [] } = answer;
    expect(outputs.map(({ data = [] }) => data.length > 0)).toEqual(outputs.map(() => true));
    expect(outputs).not.toEqual([]);
  });
});
