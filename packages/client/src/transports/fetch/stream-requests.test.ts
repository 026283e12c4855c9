/** What is said beside a stream, with a server that answers as it is told. */
import type { InputFrame, OpenFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { MillraceError } from '../../errors/millrace-error.ts';
import { StreamRequests } from './stream-requests.ts';

const open: OpenFrame = {
  kind: 'open',
  streamId: 's',
  mode: 'either',
  context: 'm',
  parameters: {},
  resumeAfter: 0,
  outputCredit: { messages: 4, bytes: 1000 },
  protocolVersions: [1],
};
const repeated: InputFrame = { kind: 'input', sequence: 3, payload: { kind: 'none' }, endOfInput: false };

/** Says what was asked for and what came of it. */
function requestsTo(answer: (method: string) => Response | Promise<Response>): {
  requests: StreamRequests;
  said: string[];
  nextSaid: () => Promise<void>;
} {
  const said: string[] = [];
  let wake: () => void = () => {};
  const nextSaid = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  const say = (text: string): void => {
    said.push(text);
    wake();
  };
  const fetchFunction = (url: unknown, init?: RequestInit): Promise<Response> => {
    say(`${init?.method} ${String(url)} ${String(init?.body)}`);
    return Promise.resolve(answer(init?.method ?? ''));
  };
  const requests = new StreamRequests('http://h', fetchFunction as typeof fetch, open, [], {
    onAccepted: ({ input }) => say(`accepted ${input}`),
    onFailure: (error) => say(`failure ${(error as MillraceError).code}`),
  });
  return { requests, said, nextSaid };
}

test('an accepted input is told', async () => {
  const { requests, said, nextSaid } = requestsTo(() => new Response('{"input":3}'));
  requests.send(repeated);
  await nextSaid();
  await nextSaid();
  expect(said).toEqual(['POST http://h/v1/streams/s/inputs {"sequence":3}', 'accepted 3']);
});

test('a ping repeats an input, and its answer is no sign of life of the connection that outputs come on', async () => {
  const { requests, said, nextSaid } = requestsTo(() => new Response('{"input":3}'));
  requests.ping(repeated);
  await nextSaid();
  requests.send({ ...repeated, sequence: 4 });
  await nextSaid();
  await nextSaid();
  expect(said).toEqual([
    'POST http://h/v1/streams/s/inputs {"sequence":3}',
    'POST http://h/v1/streams/s/inputs {"sequence":4}',
    'accepted 3',
  ]);
});

test('a ping that is refused makes the client connect again, whatever the reason: a stream that has ended has outputs to give', async () => {
  const refused = (): Response =>
    new Response('{}', { status: 409, headers: { 'millrace-error-code': 'input-after-end' } });
  const { requests, said, nextSaid } = requestsTo(refused);
  requests.ping(repeated);
  await nextSaid();
  await nextSaid();
  expect(said.slice(1)).toEqual(['failure unreachable']);
});

test('a cancel does not wait for inputs on their way', async () => {
  const { requests, said, nextSaid } = requestsTo((method) => {
    return method === 'DELETE' ? new Response(null, { status: 204 }) : new Promise(() => {});
  });
  requests.send(repeated);
  await nextSaid();
  requests.send({ kind: 'cancel', reason: '' });
  expect(said.at(-1)).toMatch('DELETE http://h/v1/streams/s');
});
