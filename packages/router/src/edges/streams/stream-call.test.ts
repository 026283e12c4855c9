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
  const conversation = new StreamConversation(
    gateway,
    { caller: '', principal: '' },
    { send: () => transport.hasRoom, close: () => {} },
  );
  conversation.receive(frame);
  const output = (sequence: number): void =>
    listener?.onFrame({ kind: 'output', sequence, inputSequence: 1, payload: undefined, endOfOutput: false });
  return { conversation, transport, taken, output };
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

test('a client that acknowledges gives the credit itself', async () => {
  const { taken, output } = conversationUnderTest({ ...open, outputCredit: { messages: 5, bytes: 100 } });
  output(1);
  await Promise.resolve();
  expect(taken).toEqual([]);
});
