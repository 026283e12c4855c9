/** Wrong uses that the compiler refuses: without its refusal the build fails, since a directive that finds no error is one. */
import { expect, test } from 'vitest';
import type { Client } from './client.ts';
import { createClient } from './index.ts';
import { grpcTransport } from './transports/grpc/index.ts';

/** As `millrace types` prints it. */
interface Models {
  readonly add: {
    readonly inputs: {
      readonly a: { readonly datatype: 'FP32'; readonly shape: readonly [-1, 4] };
      readonly ids: { readonly datatype: 'INT64'; readonly shape: readonly [2] };
    };
    readonly outputs: { readonly sum: { readonly datatype: 'FP32'; readonly shape: readonly [-1, 4] } };
  };
  readonly sentiment: {
    readonly inputs: {
      readonly text: { readonly datatype: 'BYTES'; readonly shape: readonly [-1] };
      readonly bias?: { readonly datatype: 'FP32'; readonly shape: readonly [1] };
    };
    readonly outputs: { readonly label: { readonly datatype: 'BYTES'; readonly shape: readonly [-1] } };
  };
}

const a = Float32Array.of(1, 2, 3, 4);
const ids = BigInt64Array.of(1n, 2n);

/** Never called: it is here for the compiler. */
async function uses(client: Client<Models>): Promise<void> {
  const { outputs } = await client.infer('add', { a, ids });
  const sum: Float32Array = outputs.sum.data;
  await client.infer('add', { a: { shape: [1, 4], data: a }, ids });
  const { outputs: answer } = await client.model('sentiment').infer({ text: 'lovely' });
  const labels: readonly string[] = answer.label.texts;
  await client.infer('sentiment', { text: 'lovely', bias: [0.5] });
  console.log(sum, labels);

  // @ts-expect-error 1: a model that the server does not have
  await client.infer('subtract', { a, ids });
  // @ts-expect-error 2: an input is missing
  await client.infer('add', { a });
  // @ts-expect-error 3: an input that the model does not have
  await client.infer('add', { a, ids, b: a });
  // @ts-expect-error 4: another typed array than the datatype has
  await client.infer('add', { a: Int32Array.of(1), ids });
  // @ts-expect-error 5: numbers where 64-bit integers are needed
  await client.infer('add', { a, ids: [1, 2] });
  // @ts-expect-error 6: a text for numbers
  await client.infer('add', { a: 'lovely', ids });
  // @ts-expect-error 7: numbers for texts
  await client.infer('sentiment', { text: a });
  // @ts-expect-error 8: a shape of another rank
  await client.infer('add', { a: { shape: [4], data: a }, ids });
  // @ts-expect-error 9: an output that the model does not have
  console.log(outputs.total);
  // @ts-expect-error 10: the elements of an output as another array
  const wrong: Float64Array = outputs.sum.data;
  // @ts-expect-error 11: the datatype of a shaped input contradicts the model
  await client.infer('add', { a: { shape: [1, 4], data: a, datatype: 'FP64' }, ids });
  // @ts-expect-error 12: a deadline that is no number
  await client.infer('add', { a, ids }, { deadlineMs: '1s' });
  // @ts-expect-error 13: an optional input of another datatype
  await client.infer('sentiment', { text: 'lovely', bias: 'high' });
  // @ts-expect-error 14: only the optional input
  await client.infer('sentiment', { bias: [0.5] });
  const stream = client.stream('add');
  await stream.send({ a });
  for await (const { tensors } of stream) {
    const streamed: Float32Array | undefined = tensors.sum?.data;
    console.log(streamed);
    // @ts-expect-error 15: an output of a stream that the model does not have
    console.log(tensors.total);
  }
  // @ts-expect-error 16: an input of a stream that the model does not have
  await stream.send({ a, b: a });
  const again = client.model('add').stream();
  // @ts-expect-error 17: an input of a stream of another datatype
  await again.send({ a: Int32Array.of(1) });
  console.log(wrong);
}

test('without types every name is accepted, and with them the same program compiles', () => {
  const plain = createClient('http://localhost:1', {
    transport: () => ({ url: '', calls: null as never, links: null as never }),
  });
  const typed: (client: Client<Models>) => Promise<void> = uses;
  expect([typeof plain.infer, typeof typed]).toEqual(['function', 'function']);
  expect(() => createClient({ endpoints: [] })).toThrow('at least one endpoint');
  expect(() => createClient('localhost:8000')).toThrow('is not a URL such as http://localhost:8000');
});

/** What the compiler would refuse, from a program without types. */
const untyped = createClient('http://localhost:1', {
  transport: () => ({
    url: '',
    calls: { close: () => {} } as never,
    links: { connect: () => ({ send: () => {}, ping: undefined, close: () => {} }), close: () => {} },
  }),
}) as unknown as Record<
  'infer' | 'describe' | 'isModelReady' | 'stream' | 'generate',
  (...given: unknown[]) => unknown
>;
const tensor = { shape: [1], data: Float32Array.of(1) };

test.each<[string, () => unknown, string]>([
  [
    'a deadline that is a text',
    () => untyped.infer('m', { tensor }, { deadlineMs: '5s' }),
    'deadlineMs is 5s; it must',
  ],
  ['a deadline that is NaN', () => untyped.infer('m', { tensor }, { deadlineMs: Number.NaN }), 'deadlineMs is NaN'],
  ['such a deadline of a stream', () => untyped.stream('m', { deadlineMs: '5s' }), 'deadlineMs is 5s; it must'],
  [
    'a version that is a number',
    () => untyped.infer('m', { tensor }, { version: 2 }),
    'version is 2; it must be a text',
  ],
  ['such a version to describe', () => untyped.describe('m', { version: 2 }), 'version is 2; it must be a text'],
  ['such a version to ask after', () => untyped.isModelReady('m', { version: 2 }), 'version is 2; it must be a text'],
  ['no prompt', () => untyped.generate('m', undefined), 'prompt is undefined; it must be a text'],
  [
    'an option by the name of the server',
    () => untyped.generate('m', '', { max_tokens: 4 }),
    "did you mean 'maxTokens'",
  ],
  ['an option that does not exist', () => untyped.generate('m', '', { beams: 4 }), "generate has no option 'beams'"],
  ['a position of nothing', () => untyped.stream('m', { resume: {} }), 'resume is not the position of a stream'],
  ['a position that was not stored', () => untyped.generate('m', '', { resume: null }), 'resume is not the position'],
  [
    'an input without tensors',
    () => (untyped.stream('m') as { send(input: object): unknown }).send({}),
    'has no tensor',
  ],
])('%s is refused at once', async (_, use, message) => {
  await expect((async () => await use())()).rejects.toThrow(message);
});

test('an endpoint that cannot be used as it is written is refused', () => {
  expect(() => createClient(undefined as never)).toThrow('a client needs at least one endpoint, such as http');
  const transport = grpcTransport();
  expect(() => createClient('http://me:secret@localhost:8000', { transport })).toThrow(
    'the endpoint http://localhost:8000 has a password, which is not sent: give it as headers',
  );
  expect(() => createClient('http://localhost:8000/models', { transport })).toThrow('has a path, and gRPC has none');
});
