import { expect, test } from 'vitest';
import { markdownFrom, resultFrom } from './report.ts';
import type { Scenario } from './scenario.ts';

const scenario: Scenario = {
  ...{ name: 'one', title: 'One', unit: 'ms', contestants: ['a'] },
  goals: [{ statement: 'a at most 2', bound: 2, isMinimum: false, value: ({ a }) => a as number }],
  open: () => Promise.reject(new Error('not opened')),
};

test('a report has medians, goals and the tables of its scenario, with a gap where a row lacks a column', () => {
  const tables = [{ title: 'Delays', rows: { calm: { '0.01': 5 }, attacked: { '0.01': 3, '+Inf': 2 } } }];
  const result = resultFrom(scenario, [{ a: 1 }, { a: 3 }, { a: 2 }], 2, tables);
  expect(result.tables).toBe(tables);
  expect(markdownFrom([result], 'a machine')).toBe(`# Bench results

a machine

## One

| contestant | median, ms |
|---|---|
| a | 2.00 |

Load average of the machine: 2.0.

- a at most 2: 2.00 (reached)

Delays:

| | 0.01 | +Inf |
|---|---|---|
| calm | 5 |  |
| attacked | 3 | 2 |
`);
});

test('a scenario without tables has none in its report', () => {
  expect(resultFrom(scenario, [{ a: 1 }], 2)).not.toHaveProperty('tables');
});
