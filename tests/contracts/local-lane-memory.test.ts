/** The local lane's shared memory: where tensors are, what happens when there is no room, and that nothing leaks. */
import type { AnsweredMessage, Region } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { isLong } from '../long-tests.ts';
import { halfBytes, useLocalLanes } from './local-lanes.ts';
import { int64 } from './tensor-bytes.ts';

const lanes = useLocalLanes();
const { models, open } = lanes;
const columns = 25_000;
const input = (fill: number) => [{ index: 0, shape: [1, columns], data: new Uint8Array(4 * columns).fill(fill) }];
const isShared = (region: Region): boolean => region.bytes.buffer.byteLength === 2 * halfBytes;

describe('shared memory', () => {
  test('large inputs and outputs are in it, small ones are sent in the message', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    await probe.load(models.identity(2, 4));
    expect(isShared(probe.link.lend(16))).toBe(false);
    const region = probe.link.lend(100_000);
    expect(isShared(region)).toBe(true);
    region.release();
    const large = await probe.answered(probe.dispatch(1, input(3), [0]));
    expect(isShared(large.region)).toBe(true);
    const small = await probe.answered(probe.dispatch(2, [{ index: 0, shape: [1, 4], data: new Uint8Array(16) }], [0]));
    expect(isShared(small.region)).toBe(false);
  });

  test('without it every tensor is sent in the message, and the answers are the same', async () => {
    const probe = open({ sharedMemoryBytesMax: 0 });
    await probe.load(models.identity(1, columns));
    expect(isShared(probe.link.lend(100_000))).toBe(false);
    const answer = await probe.answered(probe.dispatch(1, input(9), [0]));
    expect(isShared(answer.region)).toBe(false);
    expect(answer.outputs[0]?.data.every((byte) => byte === 9)).toBe(true);
  });

  test('memory that cannot be allocated is reported, and the link works without it', async () => {
    const reasons: string[] = [];
    const probe = open({
      sharedMemoryBytesMax: 2 ** 52,
      onSharedMemoryUnavailable: (reason) => reasons.push(reason),
    });
    await probe.load(models.identity(1, columns));
    await probe.answered(probe.dispatch(1, input(9), [0]));
    expect(reasons.length).toBe(1);
    expect(reasons[0]).toMatch(/^shared memory is not available/);
  });

  test('inputs without room in shared memory are sent in the message', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    const held: Region[] = [];
    for (let region = probe.link.lend(100_000); ; region = probe.link.lend(100_000)) {
      held.push(region);
      if (!isShared(region)) break;
    }
    expect(held.length).toBe(Math.floor(halfBytes / 100_032) + 1);
    const answer = await probe.answered(probe.dispatch(1, input(4), [0]));
    expect(answer.outputs[0]?.data.every((byte) => byte === 4)).toBe(true);
    for (const region of held) region.release();
    expect(isShared(probe.link.lend(100_000))).toBe(true);
  });

  test('outputs without room in shared memory are sent in the message, until some are released', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    const answers: AnsweredMessage[] = [];
    for (let fill = 1; fill <= 30; fill++) answers.push(await probe.answered(probe.dispatch(1, input(fill), [0])));
    const areShared = answers.map(({ region }) => isShared(region));
    const room = Math.floor(halfBytes / 100_032);
    expect(areShared).toEqual(Array.from({ length: 30 }, (_, index) => index < room));
    for (const [index, { outputs }] of answers.entries()) {
      expect(outputs[0]?.data.every((byte) => byte === index + 1)).toBe(true);
    }
    for (const { region } of answers) region.release();
    const next = await probe.answered(probe.dispatch(1, input(99), [0]));
    expect(isShared(next.region)).toBe(true);
    expect(() => answers[0]?.region.release()).toThrow(/released twice/);
  });

  const rounds = isLong ? 5000 : 300;
  test(`after ${2 * rounds} batches all of it is free again`, async () => {
    const probe = open({ sharedMemoryBytesMax: 8 * 20_480 });
    await probe.load(models.identity(1, 5000));
    const data = new Uint8Array(20_000).fill(1);
    let sharedAnswers = 0;
    for (let round = 0; round < rounds; round++) {
      const batches = [0, 1].map(() => probe.dispatch(1, [{ index: 0, shape: [1, 5000], data }], [0]));
      for (const batch of batches) {
        const { region } = await probe.answered(batch);
        if (region.bytes.buffer.byteLength === 8 * 20_480) sharedAnswers++;
        region.release();
      }
      probe.forget();
    }
    expect(sharedAnswers).toBe(2 * rounds);
    const regions = [0, 1, 2, 3].map(() => probe.link.lend(20_000));
    expect(regions.every(({ bytes }) => bytes.buffer.byteLength === 8 * 20_480)).toBe(true);
  });

  test('answers stay readable after the worker died', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    const answer = await probe.answered(probe.dispatch(1, input(77), [0]));
    await probe.end();
    expect(isShared(answer.region)).toBe(true);
    expect(answer.outputs[0]?.data.every((byte) => byte === 77)).toBe(true);
    answer.region.release();
  });
});

describe('a message over its maximum', () => {
  const options = { sharedMemoryBytesMax: 0, messageBytesMax: 65_536 };

  test('to the worker is refused in its turn, and the next batch runs', async () => {
    const probe = open(options);
    await probe.load(models.counting(1));
    const first = probe.dispatch(1, [{ index: 0, shape: [1], data: int64(20_000n) }], [0]);
    let isReleased = false;
    const large = probe.dispatch(1, input(1), [0], () => {
      isReleased = true;
    });
    const failure = await probe.failed(large);
    expect(failure).toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/100000 bytes exceeds the longest message/),
    });
    expect(isReleased).toBe(true);
    const batches = probe.received.flatMap((message) => ('batch' in message ? [message.batch] : []));
    expect(batches).toEqual([first, large]);
    const alone = probe.dispatch(1, input(1), [0]);
    expect((await probe.failed(alone)).code).toBe('unsupported');
    await probe.answered(probe.dispatch(1, [{ index: 0, shape: [1], data: int64(1n) }], [0]));
  });

  test('with a model’s configuration is a failed load', async () => {
    const probe = open(options);
    const spec = { ...models.counting(1), path: 'x'.repeat(70_000) };
    probe.call((link) => link.send({ kind: 'load', spec }));
    expect((await probe.until('load-failed')).message).toMatch(/exceeds the longest message to a worker, \d+ bytes/);
    await probe.load(models.counting(2));
  });

  test('from the worker is a failure of its batch, and the next batch runs', async () => {
    const probe = open(options);
    await probe.load(models.identity(1, 1000));
    const rows = (count: number) => [{ index: 0, shape: [count, 1000], data: new Uint8Array(4000 * count) }];
    const fits = await probe.answered(probe.dispatch(1, rows(16), [0]));
    expect(fits.outputs[0]?.data.length).toBe(64_000);
    await probe.load(models.doubling(2, 1000));
    const failure = await probe.failed(probe.dispatch(2, rows(16), [0]));
    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringMatching(/answer of 128000 bytes/) });
    await probe.answered(probe.dispatch(2, rows(4), [0]));
  });
});
