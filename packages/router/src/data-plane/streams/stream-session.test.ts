import type { CancelSignal } from '@millrace/protocol';
import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { AnswerFlow } from '../answer-flow.ts';
import type { InferAnswer } from '../infer.ts';
import { inferRequest } from '../testing/requests.ts';
import type { StreamInput } from './infer-stream.ts';
import { StreamSession } from './stream-session.ts';

interface NamedInput extends StreamInput {
  readonly name: string;
}

interface Asked {
  readonly name: string;
  readonly signal: CancelSignal;
  readonly flow: AnswerFlow;
  /** The credit that a worker would have. */
  granted: number;
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: InferenceError) => void;
}

function sessionUnderTest(memoryBytes = 1000) {
  const asked: Asked[] = [];
  const said: string[] = [];
  let kept = 0;
  let released = 0;
  const session = new StreamSession<NamedInput>({
    limits: { requestsMax: 4, slotWaitRequestsMax: 8, slotWaitBytesMax: 1000 },
    memory: {
      hasRoomToKeep: (bytes) => kept + bytes <= memoryBytes,
      count: (bytes) => {
        kept += bytes;
      },
      give: (bytes) => {
        kept -= bytes;
      },
    },
    listener: {
      onOutput: ({ input, result, isFinal }) => {
        const end = isFinal ? '*' : '';
        if (result instanceof InferenceError) said.push(`${input.name}!${result.code}${end}`);
        else {
          said.push(`${input.name}${result.isEnd === true ? '.' : `:${result.outputs[0]?.data[0]}`}${end}`);
          result.release();
        }
      },
      onHold: (isHeld) => said.push(isHeld ? 'hold' : 'go on'),
      onEnd: (ending) => said.push(ending),
    },
    inferMany: (request, signal, flow) =>
      new Promise((resolve, reject) => {
        const one: Asked = { name: request.target.id, signal, flow, granted: 0, resolve, reject };
        flow.connect({
          grant: (answers) => {
            one.granted += answers;
          },
          creditChanged: () => {},
        });
        asked.push(one);
      }),
  });
  const answer = (value: number): InferAnswer => ({
    model: 'm',
    version: '1',
    id: '',
    outputs: [{ name: 'y', datatype: 'UINT8', shape: [1], data: Uint8Array.of(value) }],
    release: () => {
      released += 1;
    },
  });
  const end = (): InferAnswer => ({ ...answer(0), outputs: [], isEnd: true });
  const input = (name: string): void =>
    session.input({ name, request: () => inferRequest({ id: name }), onDone: () => {} });
  return { session, asked, said, answer, end, input, kept: () => kept, released: () => released };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('answers of a decoupled model are sent as they come, others in the order of the requests', async () => {
  const { session, asked, said, answer, end, input } = sessionUnderTest();
  session.grant(100);
  for (const name of ['a', 'many', 'b']) input(name);
  const [a, many, b] = asked as [Asked, Asked, Asked];
  b.resolve(answer(3));
  many.flow.give(answer(1));
  many.flow.give(answer(2));
  await turn();
  expect(said).toEqual(['many:1', 'many:2']);
  many.resolve(end());
  a.resolve(answer(0));
  await turn();
  session.endInput();
  expect(said).toEqual(['many:1', 'many:2', 'many.*', 'a:0*', 'b:3*', 'done']);
});

test('a model gets credit for eight answers ahead of the caller, and one more with each answer taken', async () => {
  const { session, asked, said, answer, input, kept } = sessionUnderTest();
  input('a');
  const [one] = asked as [Asked];
  expect(one.granted).toBe(8);
  for (let value = 0; value < 8; value++) one.flow.give(answer(value));
  expect([said, kept()]).toEqual([[], 8]);
  session.grant(3);
  expect([said, one.granted, kept()]).toEqual([['a:0', 'a:1', 'a:2'], 11, 5]);
  session.grant(1);
  expect([said.at(-1), one.granted]).toEqual(['a:3', 12]);
});

test('answers that take long to finish keep their order, and the end comes after them', async () => {
  const { session, asked, said, answer, end } = sessionUnderTest();
  session.grant(10);
  const finishes: (() => void)[] = [];
  const finish = (given: InferAnswer): Promise<InferAnswer> =>
    new Promise((resolve) => {
      finishes.push(() => resolve(given));
    });
  session.input({ name: 'a', request: () => inferRequest({ id: 'a' }), finish, onDone: () => {} });
  const [one] = asked as [Asked];
  one.flow.give(answer(1));
  one.flow.give(answer(2));
  one.resolve(end());
  await turn();
  expect([said, finishes.length]).toEqual([[], 1]);
  finishes[0]?.();
  await turn();
  finishes[1]?.();
  await turn();
  expect(said).toEqual(['a:1', 'a:2', 'a.*']);
});

test('unused credit goes to the next worker', () => {
  const { asked, answer, input } = sessionUnderTest();
  input('a');
  const [one] = asked as [Asked];
  one.flow.give(answer(1));
  one.flow.disconnect();
  let granted = 0;
  one.flow.connect({
    grant: (answers) => {
      granted += answers;
    },
    creditChanged: () => {},
  });
  expect(granted).toBe(7);
});

test('an answer without room in memory fails its request, which is cancelled', async () => {
  const { session, asked, said, answer, input, released } = sessionUnderTest(2);
  input('a');
  const [one] = asked as [Asked];
  for (const value of [1, 2, 3]) one.flow.give(answer(value));
  expect([one.signal.reason, released()]).toEqual(['cancelled', 1]);
  one.reject(new InferenceError('cancelled', 'nobody waits'));
  await turn();
  session.grant(10);
  expect(said).toEqual(['a:1', 'a:2', 'a!caller-full*']);
});

test('an error after some answers ends the request, and later answers are released', async () => {
  const { session, asked, said, answer, input, released } = sessionUnderTest();
  session.grant(10);
  input('a');
  const [one] = asked as [Asked];
  one.flow.give(answer(1));
  one.reject(new InferenceError('worker-lost', 'gone'));
  await turn();
  one.flow.give(answer(2));
  expect([said, released()]).toEqual([['a:1', 'a!worker-lost*'], 2]);
});

test('a caller that goes away cancels running requests and releases waiting answers', async () => {
  const { session, asked, said, answer, input, released } = sessionUnderTest();
  input('a');
  input('b');
  const [a, b] = asked as [Asked, Asked];
  a.flow.give(answer(1));
  b.resolve(answer(2));
  await turn();
  session.abandon();
  expect([a.signal.reason, b.signal.reason, released()]).toEqual(['cancelled', 'cancelled', 2]);
  a.flow.give(answer(3));
  a.reject(new InferenceError('cancelled', 'nobody waits'));
  await turn();
  expect([said, released()]).toEqual([[], 3]);
});

test('a drain answers the inputs it has, takes no more, and ends as draining', async () => {
  const { session, asked, said, answer, input } = sessionUnderTest();
  session.grant(10);
  input('a');
  session.drain();
  expect(said).toEqual(['hold']);
  asked[0]?.resolve(answer(1));
  await turn();
  expect(said).toEqual(['hold', 'a:1*', 'draining']);
});
