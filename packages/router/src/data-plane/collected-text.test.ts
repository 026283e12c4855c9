import { Cancellation, encodeBytesElements, takeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { collectingWaiter } from './collected-text.ts';
import type { InferAnswer } from './infer.ts';
import { Waiter } from './waiter.ts';

let released = 0;

function answerOf(text: string, token: number, finish: string): InferAnswer {
  const int64 = new Uint8Array(BigInt64Array.of(BigInt(token)).buffer);
  return {
    model: 'm',
    version: '1',
    id: 'a',
    outputs: [
      { name: 'text_output', datatype: 'BYTES', shape: [1], data: encodeBytesElements([text]) },
      { name: 'token', datatype: 'INT64', shape: [1], data: int64 },
      { name: 'finish_reason', datatype: 'BYTES', shape: [1], data: encodeBytesElements([finish]) },
    ],
    release: () => {
      released += 1;
    },
  };
}

const end: InferAnswer = { model: 'm', version: '1', id: 'a', outputs: [], isEnd: true, release: () => {} };

test('answers become one: texts and tokens joined, the rest as the last has it', async () => {
  released = 0;
  const granted: number[] = [];
  const answer = await Waiter.promise(new Cancellation(), (plain) => {
    const waiter = collectingWaiter(plain);
    waiter.flow?.connect({ grant: (answers) => granted.push(answers), creditChanged: () => {} });
    waiter.flow?.give(answerOf('Once', 7, ''));
    waiter.flow?.give(answerOf(' upon', 8, ''));
    waiter.flow?.give(answerOf('', 9, 'length'));
    waiter.resolve(end);
  });
  const [text, token, finish] = answer.outputs;
  expect(Buffer.from(takeBytesElements(text?.data as Uint8Array)?.[0] ?? []).toString()).toBe('Once upon');
  expect(token?.shape).toEqual([3]);
  expect([...new BigInt64Array(new Uint8Array(token?.data as Uint8Array).buffer)]).toEqual([7n, 8n, 9n]);
  expect(finish?.data).toEqual(encodeBytesElements(['length']));
  expect(answer.isEnd).toBeUndefined();
  expect(released).toBe(3);
  // Every answer that came is replaced by credit for another.
  expect(granted.slice(1)).toEqual([1, 1, 1]);
});

test('a generator that ends without an answer has failed', async () => {
  const answered = Waiter.promise(new Cancellation(), (plain) => collectingWaiter(plain).resolve(end));
  await expect(answered).rejects.toMatchObject({ code: 'inference-failed' });
});
