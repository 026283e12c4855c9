/** Calls of StreamInfer, against a gateway that does what the test says. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { InferenceError, type Tensor } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import {
  type InferRequest,
  InferRequestSchema,
  type InferResponse,
} from '../../../proto/generated/inference/v1/inference_pb.ts';
import { viewOf } from '../../rest/testing/echo-double.ts';
import { SliceQueue } from '../../slices/slice-queue.ts';
import { payloadCodec } from '../../streams/link-frame.ts';
import { type ScriptedClientLink, ScriptedGateway } from '../../streams/testing/scripted-gateway.ts';
import { DefaultContext } from './call-settings.ts';
import { ContractCallDouble, MessagesDouble } from './testing/contract-call-double.ts';
import { promptBytesMax, TextStream } from './text-stream.ts';

function serve(metadata: Readonly<Record<string, string>> = {}, defaultContext = 'story') {
  const gateway = new ScriptedGateway();
  const call = new ContractCallDouble<InferResponse>(metadata);
  const requests = new MessagesDouble<InferRequest>();
  const stream = new TextStream(
    {
      gateway,
      slices: new SliceQueue(),
      defaultContext: new DefaultContext(defaultContext),
      callerOf: ({ peer }) => ({ caller: peer.owner, principal: '' }),
      viewOf: (name) => viewOf(name, { labels: new Map([['y', ['cat', 'dog']]]) }),
    },
    call as never,
    requests,
  );
  requests.listen(stream);
  const send = (message: MessageInitShape<typeof InferRequestSchema>): void =>
    requests.push(create(InferRequestSchema, message));
  const link = (index = 0): ScriptedClientLink => gateway.links[index] as ScriptedClientLink;
  const answers = () =>
    call.sent.map(({ streamId, sequence, token, endOfStream }) => [streamId, sequence, token, endOfStream]);
  return { gateway, call, requests, send, link, answers };
}

function sendTensors(
  link: ScriptedClientLink,
  sequence: number,
  tensors: readonly Tensor[],
  endOfOutput: boolean,
): void {
  const payload = tensors.length === 0 ? undefined : payloadCodec.encodeOutput({ kind: 'tensors', tensors });
  link.listener.onFrame({ kind: 'output', sequence, inputSequence: 1, payload, endOfOutput });
}

function textTensor(name: string, text: string): Tensor {
  const bytes = Buffer.from(text);
  const data = Buffer.alloc(4 + bytes.length);
  data.writeUInt32LE(bytes.length);
  bytes.copy(data, 4);
  return { name, datatype: 'BYTES', shape: [1], data };
}

const numbers: Tensor = {
  name: 'y',
  datatype: 'FP32',
  shape: [1, 2],
  data: new Uint8Array(new Float32Array([0.25, Number.NaN]).buffer),
};

describe('the prompt', () => {
  test('may come in several messages, and is one input when it is complete', () => {
    const { send, link, requests, call } = serve();
    send({ streamId: 's', inputText: 'Once ' });
    expect(link().open).toMatchObject({
      streamId: 's',
      mode: 'either',
      context: 'story',
      parameters: {},
      resumeAfter: 0,
    });
    expect([requests.isPaused, link().options]).toEqual([true, { isAcknowledging: false }]);
    link().sendOpened('s');
    send({ inputText: 'upon ' });
    send({ streamId: 's', inputText: 'a time' });
    expect([link().inputs.length, call.countedBytes]).toEqual([0, 16 + 3 * 64]);
    send({ endOfPrompt: true });
    expect(link().inputs).toMatchObject([
      { sequence: 1, payload: { kind: 'text', text: 'Once upon a time' }, endOfInput: true },
    ]);
    expect(call.countedBytes).toBe(0);
    requests.end();
    expect(call.ending).toBeUndefined();
  });

  test('in many short parts holds what joining them takes; empty ones hold nothing', () => {
    const { call, send, link } = serve();
    send({ streamId: 's', inputText: 'x' });
    link().sendOpened('s');
    for (let part = 1; part < 1000; part++) send({ inputText: 'x' });
    const held = call.countedBytes;
    expect(held).toBeGreaterThan(32 * 1000);
    for (let part = 0; part < 1000; part++) send({});
    expect(call.countedBytes).toBe(held);
    send({ endOfPrompt: true });
    expect(call.countedBytes).toBe(0);
    expect(link().inputs[0]?.payload).toMatchObject({ text: 'x'.repeat(1000) });
  });

  test('of a stream that has one is ignored, also when the client repeats it in parts', () => {
    const { send, link, requests, call } = serve();
    send({ streamId: 's', sequence: 3, inputText: 'Once' });
    expect(link().open).toMatchObject({ mode: 'resume', context: '', resumeAfter: 3 });
    link().sendOpened('s', { acceptedInput: 1 });
    send({ streamId: 's', inputText: ' upon', endOfPrompt: true });
    requests.end();
    expect([link().inputs, call.ending]).toEqual([[], undefined]);
  });

  test('is taken after a reconnect where the stream has none yet', () => {
    const { send, link } = serve();
    send({ streamId: 's', inputText: 'Once', endOfPrompt: true });
    link().sendOpened('s', { acceptedInput: 0, epoch: 2 });
    expect(link().inputs).toHaveLength(1);
  });

  test.each([
    ['an empty one', [{ streamId: 's', endOfPrompt: true }], /the prompt is empty/],
    ['one that is not complete', [{ streamId: 's', inputText: 'Once' }], /set end_of_prompt in the last/],
    [
      'text behind its end',
      [{ streamId: 's', inputText: 'Once', endOfPrompt: true }, { inputText: 'more' }],
      /follows end_of_prompt/,
    ],
    [
      'a message of another stream',
      [{ streamId: 's', inputText: 'Once' }, { streamId: 't' }],
      /the call is for stream 's', and a message names 't'/,
    ],
    ['a longer one than allowed', [{ streamId: 's', inputText: 'é'.repeat(promptBytesMax / 2 + 1) }], /1048576 bytes/],
  ])('%s is refused', (_what, messages, message) => {
    const { send, link, requests, call } = serve();
    for (const one of messages) send(one);
    link().sendOpened('s');
    requests.end();
    expect(String(call.ending)).toMatch(message);
    expect([link().isDetached, link().isCancelled, call.countedBytes]).toEqual([true, false, 0]);
  });

  test('a call without a message is refused', () => {
    const { requests, call } = serve();
    requests.end();
    expect(String(call.ending)).toMatch(/the call has no message/);
  });
});

describe('responses', () => {
  test('carry the texts of a generator; the last has the end', () => {
    const { send, link, call, answers } = serve();
    send({ streamId: 's', inputText: 'a', endOfPrompt: true });
    link().sendOpened('s');
    sendTensors(link(), 1, [textTensor('text_output', 'Hel'), textTensor('finish_reason', '')], false);
    sendTensors(link(), 2, [textTensor('text_output', 'lo'), textTensor('finish_reason', 'stop')], false);
    expect(answers()).toEqual([
      ['s', 1, 'Hel', false],
      ['s', 2, 'lo', false],
    ]);
    sendTensors(link(), 3, [], true);
    expect(call.sent).toHaveLength(2);
    link().sendEnded(3);
    expect(answers().slice(2)).toEqual([['s', 3, '', true]]);
    expect(call.ending).toBe('ended');
  });

  test('of other models are their text, or their outputs as JSON', async () => {
    for (const [tensors, token] of [
      [[textTensor('label', 'good')], 'good'],
      [
        [textTensor('label', 'good'), numbers],
        '{"label":"good","y":[0.25,"NaN"],"probabilities":{"cat":0.25,"dog":"NaN"}}',
      ],
    ] as const) {
      const { send, link, answers } = serve();
      send({ streamId: 's', inputText: 'a', endOfPrompt: true });
      link().sendOpened('s');
      sendTensors(link(), 1, tensors, true);
      link().sendEnded(1);
      expect(answers()).toEqual([['s', 1, token, true]]);
    }
  });

  test('after all were seen are the end alone', () => {
    const { send, link, answers } = serve();
    send({ streamId: 's', sequence: 3 });
    link().sendOpened('s', { acceptedInput: 1 });
    link().sendEnded(3);
    expect(answers()).toEqual([['s', 3, '', true]]);
  });

  test('of a stream that failed end with its status, after what was made', () => {
    const { send, link, call, answers } = serve();
    send({ streamId: 's', inputText: 'a', endOfPrompt: true });
    link().sendOpened('s');
    sendTensors(link(), 1, [textTensor('text_output', 'a')], true);
    link().listener.onFrame({ kind: 'ended', outcome: 'failed', code: 'worker-lost', message: 'gone', outputs: 1 });
    expect(answers()).toEqual([['s', 1, 'a', false]]);
    expect(call.ending).toMatchObject({ code: 'worker-lost', message: 'gone' });
  });

  test('end where a uint32 does: the last that can be numbered is sent, and how to go on is said', () => {
    const { send, link, call, answers } = serve();
    send({ streamId: 's', sequence: 2 ** 32 - 2 });
    link().sendOpened('s', { acceptedInput: 1 });
    sendTensors(link(), 2 ** 32 - 1, [textTensor('text_output', 'z')], false);
    expect(answers()).toEqual([['s', 2 ** 32 - 1, 'z', false]]);
    sendTensors(link(), 2 ** 32, [textTensor('text_output', '!')], false);
    expect(call.ending).toMatchObject({ code: 'unsupported' });
    expect(String(call.ending)).toMatch(/millrace\.v1\.InferenceService\/Stream, resume_after 4294967295/);
    expect(link().isDetached).toBe(true);
  });

  test('are paced by the transport', async () => {
    const { send, link, call } = serve();
    send({ streamId: 's', inputText: 'a', endOfPrompt: true });
    link().sendOpened('s');
    call.hasRoom = false;
    sendTensors(link(), 1, [textTensor('text_output', 'a')], false);
    await Promise.resolve();
    expect(link().takenOutputs).toEqual([]);
    call.hasRoom = true;
    call.onRoom?.();
    expect(link().takenOutputs).toEqual([1]);
  });
});

describe('a call that is lost', () => {
  test('leaves a stream with an id', () => {
    const { send, link, call } = serve();
    send({ streamId: 's', inputText: 'a' });
    link().sendOpened('s');
    call.lose();
    expect([link().isDetached, link().isCancelled, call.countedBytes]).toEqual([true, false, 0]);
  });

  test('cancels a stream without one, also while it is being opened', () => {
    const opened = serve();
    opened.send({ inputText: 'a' });
    expect(opened.link().open).toMatchObject({ streamId: undefined, mode: 'new' });
    opened.link().sendOpened('made-by-the-server');
    opened.call.lose();
    expect([opened.link().isCancelled, opened.link().isDetached]).toEqual([true, true]);
    const opening = serve();
    opening.send({ inputText: 'a' });
    opening.call.lose();
    expect([opening.link().isCancelled, opening.link().isDetached]).toEqual([false, false]);
    opening.link().sendOpened('made-by-the-server');
    expect([opening.link().isCancelled, opening.link().isDetached]).toEqual([true, true]);
  });
});

describe('metadata', () => {
  test('names the context and the parameters', () => {
    const { send, link } = serve({ 'millrace-context': 'm:2', 'millrace-parameters': '{"seed":7,"stop":["\\u00e9"]}' });
    send({ streamId: 's', inputText: 'a' });
    expect(link().open).toMatchObject({ context: 'm:2', parameters: { seed: 7, stop: ['é'] } });
  });

  test.each([
    ['{', /metadata millrace-parameters must be a JSON object/],
    ['[]', /must be a JSON object/],
    ['{"a":"é"}', /characters other than ASCII/],
    [`{"a":"${'x'.repeat(17 * 1024)}"}`, /16384/],
  ])('parameters %s are refused', (parameters, message) => {
    const { send, call } = serve({ 'millrace-parameters': parameters });
    send({ streamId: 's', inputText: 'a' });
    expect(String(call.ending)).toMatch(message);
  });

  test('without a context needs a default one that is served, and the refusal says so', () => {
    const none = serve({}, '');
    none.send({ streamId: 's', inputText: 'a' });
    expect(String(none.call.ending)).toMatch(
      /names no context, and this server has no default \(streams\.defaultContext\)/,
    );
    const missing = serve();
    missing.send({ streamId: 's', inputText: 'a' });
    missing.link().listener.onClosed(new InferenceError('unknown-model', "'story' is not found"));
    expect(String(missing.call.ending)).toMatch(/default context 'story' \(streams\.defaultContext\) is not served/);
    const named = serve({ 'millrace-context': 'm' });
    named.send({ streamId: 's', inputText: 'a' });
    named.link().listener.onClosed(new InferenceError('unknown-model', "'m' is not found"));
    expect(String(named.call.ending)).toMatch(/'m' is not found$/);
  });

  test.each([
    [{ streamId: 'not an id', inputText: 'a' }, /the stream id 'not an id' must have/],
    [{ sequence: 3 }, /sequence is 3 and stream_id is empty/],
  ])('a first message %o is refused', (message, expected) => {
    const { send, call, gateway } = serve();
    send(message);
    expect(String(call.ending)).toMatch(expected);
    expect(gateway.links).toEqual([]);
  });
});
