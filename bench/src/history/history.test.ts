import { expect, test } from 'vitest';
import { comparisonVerdictOn, quickBounds } from '../comparison/verdict.ts';
import { figuresFrom, type HistoryEntry, historyFrom } from './history.ts';
import { historyPlot, historyTable, loadsIn } from './history-report.ts';

const slice = { answered: 100, requestsPerSecond: 1000 };

/** Three instances whose second server needs this many times the processor time of the first. */
function verdictWith(micros: number, p50Ms?: number) {
  const pair = {
    before: { ...slice, serverMicros: 40, ...(p50Ms === undefined ? {} : { p50Ms }) },
    after: { ...slice, serverMicros: 40 * micros, ...(p50Ms === undefined ? {} : { p50Ms: p50Ms / 2 }) },
  };
  const pairs = Array.from({ length: 6 }, () => pair);
  return comparisonVerdictOn([pairs, pairs, pairs], quickBounds);
}

const entry = (commit: string, loads: HistoryEntry['loads']): HistoryEntry => ({
  commit,
  before: '0'.repeat(40),
  date: '2026-01-02T03:04:05.000Z',
  machine: 'a processor',
  loads,
});

test('the quick bounds let five percent pass and ten percent not', () => {
  expect(verdictWith(1.05).outcome).toBe('no slower');
  expect(verdictWith(1.1).outcome).toBe('slower');
});

test('figures keep what the commit before had, and the time of an answer only where there is one', () => {
  expect(figuresFrom(verdictWith(0.5))).toEqual({
    serverMicros: 20,
    serverMicrosBefore: 40,
    requestsPerSecond: 1000,
  });
  expect(figuresFrom(verdictWith(1, 0.2))).toMatchObject({ p50Micros: 100, p50MicrosBefore: 200 });
});

test('a history is read line by line, and a broken line is named', () => {
  const one = entry('a'.repeat(40), {});
  expect(historyFrom(`${JSON.stringify(one)}\n`)).toEqual([one]);
  expect(() => historyFrom(`${JSON.stringify(one)}\n{"commit":`)).toThrow('line 2 of the history');
});

test('the report has a panel for each load and leaves out what a commit was not measured with', () => {
  const history = [
    entry('abcdef1'.padEnd(40, '0'), { 'grpc-8x8': figuresFrom(verdictWith(0.5)) }),
    entry('1234567'.padEnd(40, '0'), {
      'grpc-8x8': figuresFrom(verdictWith(1.25)),
      'one-caller': figuresFrom(verdictWith(1, 0.2)),
    }),
  ];
  expect(loadsIn(history)).toEqual(['grpc-8x8', 'one-caller']);
  const plot = historyPlot(history);
  expect(plot).toContain('grpc-8x8: server µs a request');
  expect(plot).toContain('one-caller: p50 of an answer, µs');
  expect(plot.match(/abcdef1/g)).toHaveLength(1);
  expect(plot.match(/1234567/g)).toHaveLength(2);
  const table = historyTable(history);
  expect(table).toContain('| 40.0 → 20.0 (0.50x) | – |');
  expect(table).toContain('| 40.0 → 50.0 (1.25x) | 200.0 → 100.0 (0.50x) |');
});
