/** Runs the shell examples of docs/reference/streams.md as they stand there, but for the port. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const page = readFileSync(join(repositoryRoot, 'docs/reference/streams.md'), 'utf8');
const examples = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, example]) => example as string);

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([join(repositoryRoot, 'models')]);
}, 120_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
});

function run(example: string | undefined): string {
  const { host } = new URL(server.url);
  const script = (example ?? '').replaceAll('localhost:8000', host);
  return execFileSync('bash', ['-euo', 'pipefail', '-c', script], { encoding: 'utf8', timeout: 60_000 });
}

/** Events with their ids. JSON before them has no line end. */
const eventsIn = (text: string): readonly string[] =>
  [...text.matchAll(/event: (\w+)\nid: (\w+)$/gm)].map(([, name, id]) => `${name} ${id}`);

test('a stream is opened with its events on the response', () => {
  const [first] = examples;
  expect(eventsIn(run(first))).toEqual(['opened 0', 'output 1', 'ended end']);
});

test('a stream takes a further input, gives all its events, and those after its first output', () => {
  const [, second] = examples;
  const text = run(second);
  expect(text).toContain('"streamId":"reviews-4f9c2b7ae1d05836"');
  expect(text).toContain('{"input":2}');
  expect(eventsIn(text)).toEqual([
    ...['opened 0', 'output 1', 'output 2', 'ended end'],
    ...['opened 1', 'output 2', 'ended end'],
  ]);
  expect(examples).toHaveLength(2);
});
