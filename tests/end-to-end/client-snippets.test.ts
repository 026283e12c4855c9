/** Runs the snippets of docs/clients.md as they stand there, but for the port. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ModelRepository, writeStorytellerFolder } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const page = readFileSync(join(repositoryRoot, 'docs/clients.md'), 'utf8');
const snippets = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, snippet]) => snippet as string);
const [sound = '', typed = ''] = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, snippet]) => snippet as string);
const run = promisify(execFile);

const repository = new ModelRepository();
let server: ServerProcess;
let folder = '';
beforeAll(async () => {
  // Below the tests, where packages of the workspace are found.
  mkdirSync(join(repositoryRoot, 'tests/dist'), { recursive: true });
  folder = mkdtempSync(join(repositoryRoot, 'tests/dist/snippets-'));
  for (const model of [
    ...['digits', 'digits_tensors', 'listener_tensors', 'sentiment', 'sentiment_tensors', 'storyteller'],
  ]) {
    cpSync(join(repositoryRoot, 'models', model), join(repository.path, model), { recursive: true });
  }
  await writeStorytellerFolder(join(repository.path, 'story/1'));
  server = await ServerProcess.start([repository.path]);
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  repository.remove();
  expect(await server.stop()).toBe(0);
});

/** What a snippet prints. */
async function printed(snippet: string | undefined): Promise<string> {
  const file = join(folder, 'snippet.mjs');
  writeFileSync(file, (snippet ?? '').replaceAll('localhost:8000', new URL(server.url).host));
  const { stdout } = await run(process.execPath, [file], { timeout: 60_000 });
  return stdout;
}

test('a model is called', async () => {
  expect(await printed(snippets[0])).toBe("[ 'positive', 'negative' ]\n");
});

test('a stream answers every chunk, and the program ends by itself', async () => {
  expect(await printed(snippets[1])).toBe('1 1,1\n2 1,1\n3 1,1\n4 1,1\n5 1,1\n5\n');
});

test('a text is generated', async () => {
  expect(await printed(snippets[2])).toBe('true true\n');
});

test('an error has a code', async () => {
  expect(await printed(snippets[3])).toBe('unknown-model 1\n');
});

test('curl gets answers, and a stream again from an output on', async () => {
  const [, shell] = /```bash\n(.*?)```/s.exec(page) as unknown as [string, string];
  const script = shell.replaceAll('localhost:8000', new URL(server.url).host);
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: repositoryRoot, timeout: 60_000 });
  const answers = [...stdout.matchAll(/\{"model_name".*?\]\}(?=\{|event|$)/gs)].map(([answer]) => JSON.parse(answer));
  expect(answers.map(({ model_name: name }) => name)).toEqual(['sentiment', 'digits']);
  const valuesOf = (at: number, name: string) =>
    answers[at].outputs.find((output: { readonly name: string }) => output.name === name).data;
  expect(valuesOf(0, 'label')).toEqual(['positive', 'negative']);
  expect(valuesOf(1, 'digit')).toEqual([3]);
  // Eight tokens and the end of the answer; then what follows output 5.
  const events = [...stdout.matchAll(/^event: (\w+)\nid: (\w+)$/gm)].map(([, name, id]) => `${name} ${id}`);
  const outputs = (first: number) => Array.from({ length: 10 - first }, (_, at) => `output ${first + at}`);
  expect(events.filter((event) => event.startsWith('output'))).toEqual([...outputs(1), ...outputs(6)]);
  expect(events.filter((event) => event === 'ended end')).toHaveLength(2);
});

test('the types that the command prints compile, for bundlers and for Node', async () => {
  const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
  const { stdout } = await run(process.execPath, [millrace, 'types', server.url]);
  expect(stdout).toContain('readonly sentiment: {');
  // A generator takes a text, and may be told more.
  expect(stdout).toMatch(/readonly text_input: \{.*\n(?: +readonly \w+\?: \{.*\n)+/);
  writeFileSync(join(folder, 'models.d.ts'), stdout);
  writeFileSync(join(folder, 'typed.ts'), typed);
  writeFileSync(join(folder, 'sound.ts'), sound);
  const wrong = `${typed}\n// @ts-expect-error no such input\nawait client.infer('sentiment', { words: 'lovely' });\n`;
  writeFileSync(join(folder, 'wrong.ts'), wrong);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2023',
      '--module',
      module,
      '--moduleResolution',
      resolution,
    ];
    const files = ['typed.ts', 'wrong.ts', 'sound.ts'].map((file) => join(folder, file));
    await run(process.execPath, [tsc, ...options, '--types', 'node', '--ignoreConfig', ...files], { cwd: folder });
  }
});

// Last: it divides the requests for a model among its versions.
test('traffic is managed', async () => {
  expect(await printed(snippets[4])).toBe("1 ready [ 'stable' ]\n2 ready []\n");
  expect(snippets).toHaveLength(5);
});
