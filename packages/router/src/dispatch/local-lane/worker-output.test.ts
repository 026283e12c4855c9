import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  outputCharactersMax,
  outputLinesMax,
  outputReadMax,
  outputWindowMs,
  type WorkerLine,
  WorkerOutput,
} from './worker-output.ts';

let now = 0;
let lines: WorkerLine[] = [];
let stdout: PassThrough;
let output: WorkerOutput;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  now = 0;
  lines = [];
  stdout = new PassThrough({ highWaterMark: 1024 });
  output = new WorkerOutput(
    (line) => lines.push(line),
    () => now,
  );
  output.add(stdout, 'stdout');
});
afterEach(() => void vi.useRealTimers());

/** As a pipe delivers it. */
function arrives(text: string): void {
  stdout.emit('data', text);
}

const texts = () => lines.map(({ text }) => text);

test('lines are put together, empty ones left out, and the last needs no end', async () => {
  arrives('on');
  arrives('e\r\n\ntwo\nthr');
  expect(texts()).toEqual(['one', 'two']);
  arrives('ee');
  stdout.resume().end();
  await new Promise((resolve) => stdout.once('close', resolve));
  expect(lines.at(-1)).toEqual({ stream: 'stdout', text: 'three', droppedLines: 0 });
});

test('a long line is cut, however it arrives', () => {
  for (let part = 0; part < 3; part++) arrives('x'.repeat(outputCharactersMax));
  arrives('\nnext\n');
  expect(texts()).toEqual([`${'x'.repeat(outputCharactersMax)}… (${2 * outputCharactersMax} more)`, 'next']);
});

test('too many lines are counted, and the next that is passed on says how many', () => {
  arrives('a\n'.repeat(outputLinesMax + 50));
  expect(lines).toHaveLength(outputLinesMax);
  now = outputWindowMs;
  arrives('b\nc\n');
  expect(lines.slice(-2)).toMatchObject([
    { text: 'b', droppedLines: 50 },
    { text: 'c', droppedLines: 0 },
  ]);
});

test('a stream that brings too much in a second is read on in the next, and to its end after the exit', () => {
  arrives('x'.repeat(outputReadMax));
  expect(stdout.isPaused()).toBe(false);
  now = 400;
  arrives('x');
  expect(stdout.isPaused()).toBe(true);
  vi.advanceTimersByTime(599);
  expect(stdout.isPaused()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(stdout.isPaused()).toBe(false);
  arrives('x'.repeat(outputReadMax + 1));
  expect(stdout.isPaused()).toBe(true);
  output.end();
  expect(stdout.isPaused()).toBe(false);
  arrives('x'.repeat(outputReadMax + 1));
  expect(stdout.isPaused()).toBe(false);
});
