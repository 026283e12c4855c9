/** Holds docs/reference/streams.md to the code: every example is read or written, every field and limit is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBytesElements, InferenceError, JsonWriter, type StreamServerFrame } from '@millrace/protocol';
import {
  defaultStreamFrameLimits,
  doAtOnce,
  encodeErrorEvent,
  encodeOutput,
  FrameJsonReader,
  StreamFrameReader,
  writeEvent,
  writeFrameJson,
} from '@millrace/router/edges';
import { expect, test } from 'vitest';
import { root } from './source-files.ts';

const page = readFileSync(join(root, 'docs/reference/streams.md'), 'utf8');
const contract = readFileSync(join(root, 'proto/millrace/v1/inference.proto'), 'utf8');
const reader = new FrameJsonReader(defaultStreamFrameLimits);

const opened: StreamServerFrame = {
  kind: 'opened',
  streamId: 'tale-1',
  epoch: 1,
  model: 'storyteller',
  version: '1',
  protocolVersion: 1,
  acceptedInput: 0,
  nextOutput: 1,
  inputCredit: { messages: 64, bytes: 1048576 },
  warnings: [],
};
const token: StreamServerFrame = {
  kind: 'output',
  sequence: 1,
  inputSequence: 1,
  payload: {
    kind: 'tensors',
    tensors: [
      { name: 'text_output', datatype: 'BYTES', shape: [1], data: encodeBytesElements([' there']) },
      { name: 'token', datatype: 'INT64', shape: [1], data: new Uint8Array(BigInt64Array.of(414n).buffer) },
      { name: 'finish_reason', datatype: 'BYTES', shape: [1], data: encodeBytesElements(['']) },
      { name: 'prompt_tokens', datatype: 'INT32', shape: [1], data: new Uint8Array(Int32Array.of(5).buffer) },
      { name: 'output_tokens', datatype: 'INT32', shape: [1], data: new Uint8Array(Int32Array.of(1).buffer) },
    ],
  },
  endOfOutput: false,
};
const data = new Uint8Array(new Float32Array([0.25, 0.75]).buffer);
const serverFrames: readonly StreamServerFrame[] = [
  opened,
  { kind: 'accepted', input: 1 },
  token,
  {
    kind: 'output',
    sequence: 2,
    inputSequence: 2,
    payload: { kind: 'tensors', tensors: [{ name: 'scores', datatype: 'FP32', shape: [2], data }] },
    endOfOutput: true,
  },
  { kind: 'draining', message: 'the server is shutting down' },
  {
    kind: 'ended',
    outcome: 'failed',
    code: 'worker-lost',
    message: 'the worker ended and the model is not resumable',
    outputs: 2,
  },
];

function section(heading: string): string {
  const start = page.indexOf(`\n${heading}\n`);
  expect(start, heading).toBeGreaterThan(0);
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const end = page.slice(start + 1 + heading.length).search(new RegExp(`\n#{1,${level}} `));
  return end === -1 ? page.slice(start) : page.slice(start, start + 1 + heading.length + end);
}

const examplesIn = (text: string): readonly string[] =>
  [...text.matchAll(/```json\n(.*?)\n```/gs)].map(([, example]) => example as string);

test('every example of a client is a frame of the kind that its heading names', () => {
  let count = 0;
  for (const kind of ['open', 'input', 'acknowledge', 'cancel']) {
    for (const example of examplesIn(section(`### ${kind}`))) {
      expect(doAtOnce(reader.readClientFrame(Buffer.from(example))).kind).toBe(kind);
      count += 1;
    }
  }
  expect(count).toBe(6);
});

test('every example of a server is what the server writes', () => {
  const examples = examplesIn(section('## Frames of a server'));
  expect(examples).toEqual(serverFrames.map((frame) => Buffer.from(doAtOnce(writeFrameJson(frame))).toString()));
  const protobuf = new StreamFrameReader(defaultStreamFrameLimits);
  for (const frame of serverFrames) {
    if (frame.kind === 'output') expect(protobuf.readOutput(encodeOutput(frame)).sequence).toBe(frame.sequence);
  }
});

test('the events are what the server writes, and the bodies are read', () => {
  const events = section('## Server-sent events');
  const writer = new JsonWriter();
  for (const frame of [opened, token]) doAtOnce(writeEvent(writer, frame));
  const written = Buffer.from(writer.take()).toString();
  expect(events).toContain(`\`\`\`text\n${written}\`\`\`\n`);
  const error = encodeErrorEvent(new InferenceError('draining', 'the server is shutting down'));
  expect(events).toContain(`\`\`\`text\n${Buffer.from(error).toString()}\`\`\`\n`);
  const [begin, input, acknowledge] = examplesIn(events).map((example) => Buffer.from(example)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  expect(doAtOnce(reader.readStreamBody(begin))).toMatchObject({
    open: { context: 'storyteller', streamId: 'tale-1', parameters: { seed: 7 } },
    input: { sequence: 1, endOfInput: true, payload: { kind: 'text', text: 'Once' } },
  });
  expect(doAtOnce(reader.readInputBody(input))).toMatchObject({ sequence: 2, endOfInput: true });
  expect(reader.readAcknowledgeBody(acknowledge)).toMatchObject({ output: 41 });
});

/** Messages of the contract and the headings under which their fields stand. */
const headings: Readonly<Record<string, string>> = {
  Open: '### open',
  Input: '### input',
  Acknowledge: '### acknowledge',
  Cancel: '### cancel',
  Opened: '### opened',
  Accepted: '### accepted',
  Output: '### output',
  Draining: '### draining',
  Ended: '### ended',
  Credit: '## Credit',
  Tensor: '## Tensors',
};

test('the tables of fields are those of the contract', () => {
  const messages = [...contract.matchAll(/^message (\w+) \{\n(.*?)^\}/gms)];
  const undocumented = ['ClientFrame', 'CollectResponse', 'GenerateRequest', 'ServerFrame', 'Token'];
  expect(new Set(messages.map(([, name]) => name))).toEqual(new Set([...Object.keys(headings), ...undocumented]));
  for (const [, name, body] of messages) {
    const heading = headings[name as string];
    if (heading === undefined) continue;
    const declared = [...(body as string).matchAll(/^ +[\w. ]+ (\w+) = (\d+);/gm)].map(([, field, number]) => [
      field,
      number,
    ]);
    const rows = [...section(heading).matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, field, number]) => [
      field,
      number,
    ]);
    expect([name, rows]).toEqual([name, declared]);
  }
});

test('the table of limits has every limit with its default', () => {
  const rows = [...section('## Limits').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)];
  expect(Object.fromEntries(rows.map(([, name, value]) => [name, Number(value)]))).toEqual({
    ...defaultStreamFrameLimits,
  });
});
