import type { OpenFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { StreamGateway, StreamListenerOfLink } from '../../streams/stream-gateway.ts';
import { StreamConversation } from './stream-call.ts';

const open: OpenFrame = {
  kind: 'open',
  mode: 'either',
  context: 'm',
  parameters: {},
  resumeAfter: 0,
  protocolVersions: [1],
};

function conversationUnderTest(frame: OpenFrame) {
  const taken: number[] = [];
  let listener: StreamListenerOfLink | undefined;
  const gateway = {
    attach: (_open, _caller, _options, attached) => {
      listener = attached;
      const nothing = (): void => {};
      return {
        input: nothing,
        acknowledge: nothing,
        cancel: nothing,
        detach: nothing,
        finish: nothing,
        taken: (output) => void taken.push(output),
      };
    },
  } as Partial<StreamGateway> as StreamGateway;
  const transport = { hasRoom: true };
  const sent: string[] = [];
  const conversation = new StreamConversation(
    gateway,
    { caller: '', principal: '' },
    {
      send: (one) => {
        sent.push(one.kind === 'accepted' ? `accepted ${one.input}` : one.kind);
        return transport.hasRoom;
      },
      close: () => {},
    },
  );
  conversation.receive(frame);
  const output = (sequence: number): void =>
    listener?.onFrame({ kind: 'output', sequence, inputSequence: 1, payload: undefined, endOfOutput: false });
  const accepted = (input: number): void => listener?.onFrame({ kind: 'accepted', input });
  return { conversation, transport, taken, output, accepted, sent };
}

test('credit is renewed once for outputs that are sent together, however few they are', async () => {
  const { taken, output } = conversationUnderTest(open);
  for (const sequence of [1, 2, 3]) output(sequence);
  expect(taken).toEqual([]);
  await Promise.resolve();
  output(4);
  await Promise.resolve();
  expect(taken).toEqual([3, 4]);
});

test('a transport without room gets no more until it has some', async () => {
  const { conversation, transport, taken, output } = conversationUnderTest(open);
  transport.hasRoom = false;
  output(1);
  await Promise.resolve();
  expect(taken).toEqual([]);
  conversation.onRoom();
  expect(taken).toEqual([1]);
});

test('of a client that acknowledges the host is told what the transport took, some outputs at a time', async () => {
  const { taken, output } = conversationUnderTest({ ...open, outputCredit: { messages: 1_000_000, bytes: 1e9 } });
  for (let sequence = 1; sequence < 64; sequence++) output(sequence);
  await Promise.resolve();
  expect(taken).toEqual([]);
  output(64);
  await Promise.resolve();
  expect(taken).toEqual([64]);
});

test('a client that acknowledges and does not read gets no more until its transport has room', async () => {
  const { conversation, transport, taken, output } = conversationUnderTest({
    ...open,
    outputCredit: { messages: 1_000_000, bytes: 1e9 },
  });
  transport.hasRoom = false;
  for (let sequence = 1; sequence <= 100; sequence++) output(sequence);
  await Promise.resolve();
  expect(taken).toEqual([]);
  conversation.onRoom();
  expect(taken).toEqual([100]);
});

test('of the accepted frames that a transport has no room for, the last one is sent', async () => {
  const { conversation, transport, accepted, sent } = conversationUnderTest(open);
  transport.hasRoom = false;
  for (const input of [1, 2, 3]) accepted(input);
  expect(sent).toEqual(['accepted 1']);
  transport.hasRoom = true;
  conversation.onRoom();
  accepted(4);
  expect(sent).toEqual(['accepted 1', 'accepted 3', 'accepted 4']);
});
