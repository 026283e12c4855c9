import { expect, test } from 'vitest';
import { CommitQueue } from './commit-queue.ts';
import type { JournalHost, JournalTable } from './journal-table.ts';

function queueInTurns() {
  const commits: string[][] = [];
  const settled: string[] = [];
  let due: (() => void)[] = [];
  const host: Pick<JournalHost, 'commit'> = {
    commit: (action, settle) => {
      commits.push([]);
      action({} as JournalTable);
      settle();
    },
  };
  const clock = { endOfTurn: (callback: () => void) => void due.push(callback) };
  const queue = new CommitQueue(host as JournalHost, clock, () => {});
  return {
    commits,
    settled,
    add: (name: string, canWait: boolean) =>
      queue.add({
        bytes: 1,
        canWait,
        apply: () => commits.at(-1)?.push(name),
        settle: () => settled.push(name),
      }),
    passTurn: () => {
      const callbacks = due;
      due = [];
      for (const callback of callbacks) callback();
    },
  };
}

test('a change that can wait shares the transaction of the one that it waits for', () => {
  const { commits, settled, add, passTurn } = queueInTurns();
  add('inputs', true);
  passTurn();
  expect(commits).toEqual([]);
  add('outputs', false);
  passTurn();
  expect(commits).toEqual([['inputs', 'outputs']]);
  expect(settled).toEqual(['inputs', 'outputs']);
});

test('a change waits for no more than three turns, however many others can wait', () => {
  const { commits, add, passTurn } = queueInTurns();
  add('first', true);
  for (let turn = 0; turn < 3; turn++) {
    passTurn();
    add(`after turn ${turn + 1}`, true);
  }
  expect(commits).toEqual([]);
  passTurn();
  expect(commits).toEqual([['first', 'after turn 1', 'after turn 2', 'after turn 3']]);
});

test('a change that cannot wait is committed at the end of its turn, and the next one that can waits anew', () => {
  const { commits, add, passTurn } = queueInTurns();
  add('ending', false);
  passTurn();
  add('inputs', true);
  for (let turn = 0; turn < 3; turn++) passTurn();
  expect(commits).toEqual([['ending']]);
  passTurn();
  expect(commits).toEqual([['ending'], ['inputs']]);
});
