/** The examples of docs/examples that are no pages, each started by its command. tests/interop/browser-client runs the pages. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';

const folder = mkdtempSync(join(tmpdir(), 'examples-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true });
});

class Example {
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
  /** What it wrote to stderr: warnings of Node among it. */
  complaints = '';
  readonly lines: string[] = [];
  readonly #reader;

  constructor(name: string, ...args: readonly string[]) {
    const start = join(repositoryRoot, 'docs/examples', name, 'start.mjs');
    this.child = spawn(process.execPath, [start, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.complaints += text;
    });
    children.push(this.child);
    this.exit = once(this.child, 'close');
    this.#reader = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    this.#reader.on('line', (line) => this.lines.push(line));
  }

  async line(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      for (const line of this.lines) {
        const found = pattern.exec(line);
        if (found !== null) return found;
      }
      await once(this.#reader, 'line');
    }
  }
}

interface Result {
  readonly id: number;
  readonly text: string;
  readonly label: string;
}

const resultsIn = (file: string): readonly Result[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Result);

test('the job judges every review once, though it is interrupted and its server killed', async () => {
  const file = join(folder, 'results.jsonl');
  const first = new Example('job', file);
  await first.line(/ 20 % /);
  first.child.kill('SIGINT');
  expect((await first.exit)[0]).toBe(130);
  const kept = resultsIn(file).length;
  expect(kept).toBeGreaterThan(1000);
  expect(kept).toBeLessThan(10_000);
  // As a crash leaves it.
  appendFileSync(file, '{"id":9999,"te');

  const second = new Example('job', file);
  await second.line(new RegExp(`^10000 reviews, ${kept} judged before$`));
  const [, router] = await second.line(/kill -9 (\d+)$/);
  await second.line(/ 60 % /);
  process.kill(Number(router), 'SIGKILL');
  expect((await second.exit)[0], second.complaints).toBe(0);
  expect(second.lines.at(-1)).toBe(`done: ${file} has 10000 results`);

  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const whole = lines.filter((line) => line !== '{"id":9999,"te');
  expect(lines).toHaveLength(whole.length + 1);
  const results = whole.map((line) => JSON.parse(line) as Result);
  expect(new Set(results.map(({ id }) => id)).size).toBe(10_000);
  expect(results).toHaveLength(10_000);
  const isGood = (text: string) => / (lovely|wonderful|brilliant|charming)\.$/.test(text);
  expect(results.filter(({ text, label }) => label !== (isGood(text) ? 'positive' : 'negative'))).toEqual([]);
}, 600_000);

test('the web application judges reviews with the engine in its own program', async () => {
  const example = new Example('fastify', '0');
  const [, url = ''] = await example.line(/^post reviews to (http:.*)$/);
  const judge = async (body: unknown) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  const texts = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? 'What a lovely film!' : 'What a terrible film!'));
  const answers = await Promise.all(texts.map((text) => judge({ text })));
  expect(answers).toEqual(
    texts.map((_, at) => ({
      status: 200,
      label: at % 2 === 0 ? 'positive' : 'negative',
      probability: expect.any(Number),
    })),
  );
  // One after the other, on one connection.
  for (const text of texts) expect(await judge({ text })).toMatchObject({ status: 200 });
  expect(await judge({ words: 'lovely' })).toMatchObject({ status: 400 });
  const models = (await (await fetch(new URL('/models', url))).json()) as readonly object[];
  expect(models).toContainEqual({ name: 'sentiment', version: '2', state: 'ready' });
  example.child.kill('SIGTERM');
  expect((await example.exit)[0]).toBe(0);
  expect(example.complaints).toBe('');
}, 300_000);
