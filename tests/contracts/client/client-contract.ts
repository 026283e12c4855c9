/** What a client does, whatever it speaks and wherever it runs: for every transport, in Node and in browsers. */
import { type Client, createClient, MillraceError, type TextPiece, type TransportFactory } from '@millrace/client';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { runningTotal } from '../../support/running-total-name.ts';

/** A real server with the models of contract-models.ts. */
export interface AskedServer {
  readonly url: string;
  /** Whether this program may list models: pages of another origin may not. */
  readonly listsModels: boolean;
  /** Streams that were cancelled so far. */
  cancelledStreams(): Promise<number>;
}

/** What a promise was rejected with. */
async function failureOf(promise: Promise<unknown>): Promise<MillraceError> {
  const error = await promise.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MillraceError);
  return error as MillraceError;
}

const value = (one: number) => ({ value: { shape: [1, 1], data: Float32Array.of(one) } });

export function clientContract(name: string, transport: () => TransportFactory, server: () => AskedServer): void {
  describe(name, () => {
    const clients: Client[] = [];
    const open = (): Client => {
      const client = createClient(server().url, { transport: transport() });
      clients.push(client);
      return client;
    };
    afterEach(() => {
      for (const client of clients.splice(0)) client.close();
    });

    describe('calls', () => {
      test('typed arrays go and come with their bits', async () => {
        const data = Float32Array.of(1, -0, 3.5, 1e-40, 3.4e38);
        const { outputs, model, version } = await open().infer('identity_fp32', { INPUT0: { shape: [1, 5], data } });
        expect([model, version]).toEqual(['identity_fp32', '1']);
        expect(outputs.OUTPUT0?.shape).toEqual([1, 5]);
        expect(outputs.OUTPUT0?.data).toEqual(data);
        const wide = BigInt64Array.of(2n ** 62n, -1n);
        const integers = await open().infer('identity_int64', { INPUT0: { shape: [1, 2], data: wide } });
        expect(integers.outputs.OUTPUT0?.data).toEqual(wide);
      });

      test('a value without a shape gets that of the model', async () => {
        const client = open();
        const { outputs } = await client.infer('identity_fp32', { INPUT0: [1, 2, 3] });
        expect(outputs.OUTPUT0?.shape).toEqual([1, 3]);
        const texts = await client.infer('identity_bytes', { INPUT0: ['one', 'zwei ü', ''] });
        expect(texts.outputs.OUTPUT0?.texts).toEqual(['one', 'zwei ü', '']);
        const file = await client.infer('identity_bytes', { INPUT0: new Blob(['a file']) });
        expect(file.outputs.OUTPUT0?.data).toHaveLength(1);
        expect(new TextDecoder().decode(file.outputs.OUTPUT0?.data[0] as Uint8Array)).toBe('a file');
        const flags = await client.infer('identity_bool', { INPUT0: [true, false] });
        expect([...(flags.outputs.OUTPUT0?.bytes ?? [])]).toEqual([1, 0]);
      });

      test('tensors that take many frames come whole', async () => {
        const data = Float32Array.from({ length: 300_000 }, (_, at) => Math.sin(at));
        const { outputs } = await open().infer('identity_fp32', { INPUT0: { shape: [1, data.length], data } });
        const back = outputs.OUTPUT0?.bytes as Uint8Array;
        expect(back).toHaveLength(data.byteLength);
        expect(new Uint8Array(data.buffer).findIndex((byte, at) => byte !== back[at])).toBe(-1);
      });

      test('many calls at once get their own answers', async () => {
        const client = open();
        const numbers = Array.from({ length: 200 }, (_, at) => at);
        const answers = await Promise.all(
          numbers.map((at) => client.infer('identity_fp32', { INPUT0: { shape: [1, 1], data: Float32Array.of(at) } })),
        );
        expect(answers.map(({ outputs }) => outputs.OUTPUT0?.data[0])).toEqual(numbers);
      });

      test('wrong use is refused with words that help, before anything is sent', async () => {
        const client = open();
        await expect(client.infer('identity_fp32', { INPUT0: Int32Array.of(1) })).rejects.toThrow(
          'input "INPUT0" of identity_fp32 is FP32, which takes Float32Array or number[], not Int32Array',
        );
        await expect(client.infer('identity_fp32', { INPUT: [1] })).rejects.toThrow(
          'identity_fp32 has no input "INPUT"; it takes "INPUT0"',
        );
        await expect(client.infer('identity_fp32', { INPUT0: { shape: [1, 2], data: [1] } })).rejects.toThrow(
          'input "INPUT0" of identity_fp32 has 1 elements, but the shape [1, 2] has 2',
        );
      });

      test('errors have the code of the catalogue, and those that cannot succeed are not repeated', async () => {
        const input = { INPUT0: { shape: [1, 1], data: Float32Array.of(1) } };
        const unknown = await failureOf(open().infer('nobody', input));
        expect(unknown).toMatchObject({ code: 'unknown-model', attempts: 1, status: 'NOT_FOUND' });
        expect(unknown.message).toContain("'nobody'");
        const wrong = await failureOf(
          open().infer('identity_fp32', { OTHER: { shape: [1, 1], data: Float32Array.of(1) } }),
        );
        expect(wrong.code).toBe('invalid-request');
      });

      test('a deadline and a signal end a call', async () => {
        const client = open();
        const input = { INPUT0: { shape: [1, 1], data: Float32Array.of(1) } };
        const steps = { shape: [1], data: BigInt64Array.of(5000n) };
        const late = await failureOf(client.infer('slow', { steps }, { deadlineMs: 100 }));
        expect(late.code).toBe('deadline-exceeded');
        const aborted = client.infer('identity_fp32', input, { signal: AbortSignal.abort(new Error('left')) });
        await expect(aborted).rejects.toThrow('left');
      });

      test('the server and its models can be asked', async () => {
        const client = open();
        expect(await client.ready()).toBe(true);
        expect(await client.isModelReady('identity_fp32')).toBe(true);
        expect(await client.isModelReady('nobody')).toBe(false);
        expect(await client.describe('identity_fp32')).toEqual({
          name: 'identity_fp32',
          versions: ['1'],
          platform: 'onnxruntime_onnx',
          inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
          outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
        });
      });
    });

    test('models are listed, where that is allowed', async () => {
      const models = open().models();
      if (server().listsModels) {
        expect(await models).toContainEqual({ name: 'identity_fp32', version: '1', state: 'READY', reason: '' });
      } else {
        const { code, message } = await failureOf(models);
        expect(code).toBe('unreachable');
        expect(message).toContain(
          'the list of models is management, which http.corsOrigins (--cors-origins) opens to no',
        );
      }
    });

    describe('streams', () => {
      const totals = async (
        stream: AsyncIterable<{ tensors: Readonly<Record<string, { data: ArrayLike<unknown> }>> }>,
      ) => {
        const seen: unknown[] = [];
        for await (const { tensors } of stream) seen.push(tensors.total?.data[0]);
        return seen;
      };

      test('every input is answered, in order, and the end is the end of the iteration', async () => {
        const stream = open().stream(runningTotal);
        const sent = (async () => {
          for (let one = 1; one <= 99; one++) await stream.send(value(one));
          await stream.end();
        })();
        const expected = Array.from({ length: 99 }, (_, at) => ((at + 1) * (at + 2)) / 2);
        expect(await totals(stream)).toEqual(expected);
        await sent;
        expect(stream.position).toEqual({ streamId: stream.streamId, model: runningTotal, output: 99, input: 100 });
      });

      test('another client goes on after the position, with the next input', async () => {
        const first = open().stream(runningTotal);
        for (const one of [1, 2, 3]) await first.send(value(one));
        const outputs = first[Symbol.asyncIterator]();
        for (let count = 0; count < 3; count++) await outputs.next();
        // The third was delivered and not handled: it comes again.
        const position = JSON.parse(JSON.stringify(first.detach())) as typeof first.position;
        expect(position).toMatchObject({ output: 2, input: 3 });
        const second = open().stream(runningTotal, { resume: position });
        expect(await second.opened()).toBe(3);
        await second.sendLast(value(4));
        expect(await totals(second)).toEqual([6, 10]);
      });

      test('a stream that another client has taken over ends with that error, and stays away', async () => {
        const events: string[] = [];
        const client = createClient(server().url, { transport: transport(), observe: ({ kind }) => events.push(kind) });
        clients.push(client);
        const first = client.stream(runningTotal);
        await first.send(value(1));
        await first.opened();
        const outputs = first[Symbol.asyncIterator]();
        await outputs.next();
        const next = failureOf(outputs.next());
        const second = open().stream(runningTotal, { resume: { ...first.position, output: 1 } });
        await second.sendLast(value(5));
        expect(await totals(second)).toEqual([6]);
        expect((await next).code).toBe('stream-superseded');
        expect(events.filter((kind) => kind === 'stream-connecting')).toHaveLength(1);
      });

      test('a stream is cancelled, and the server knows', async () => {
        const stream = open().stream(runningTotal);
        await stream.send(value(1));
        await stream.opened();
        const before = await server().cancelledStreams();
        stream.cancel('enough');
        expect((await failureOf(stream[Symbol.asyncIterator]().next())).code).toBe('cancelled');
        await eventually(
          'the stream has ended on the server',
          async () => (await server().cancelledStreams()) > before,
        );
        const resumed = open().stream(runningTotal, { resume: { ...stream.position, output: 0 } });
        expect((await failureOf(totals(resumed))).code).toBe('cancelled');
      });

      test('a stream that cannot be opened says why', async () => {
        const stream = open().stream('nobody');
        expect((await failureOf(stream.opened())).code).toBe('unknown-model');
        expect((await failureOf(stream.send('text'))).code).toBe('unknown-model');
        const gone = open().stream(runningTotal, {
          resume: { streamId: 'never-was-0123456789abcdef', model: runningTotal, output: 3, input: 3 },
        });
        expect((await failureOf(gone[Symbol.asyncIterator]().next())).code).toBe('stream-not-found');
      });

      test('text is generated piece by piece, and is the same with the same seed', async () => {
        const options = { maxTokens: 12, seed: 7, temperature: 0.8 };
        const whole = await open().generate('story', 'Once upon a time', options).text();
        expect(whole.length).toBeGreaterThan(0);
        const pieces: TextPiece[] = [];
        for await (const piece of open().generate('story', 'Once upon a time', options)) pieces.push(piece);
        expect(pieces.map(({ text }) => text).join('')).toBe(whole);
        expect(pieces.map(({ token }) => typeof token)).toEqual(Array.from({ length: 12 }, () => 'number'));
        expect(pieces.map(({ finishReason }) => finishReason).filter(Boolean)).toEqual(['length']);
        expect(pieces.at(-1)?.finishReason).toBe('length');
      });
    });
  });
}
