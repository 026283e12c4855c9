/** Part of the lane contract: batches are answered correctly and in order. */
import { type BatchTensor, datatypes } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { LaneTools } from './lane.ts';
import type { LinkProbe } from './link-probe.ts';
import { numericDatatypes } from './model-folder.ts';
import { floats, int64, texts } from './tensor-bytes.ts';

const right = { index: 1, shape: [2, 4], data: floats(10, 10, 10, 10, 2, 2, 2, 2) };
const rows = (first: number) => [{ index: 0, shape: [2, 4], data: floats(first, 2, 3, 4, 5, 6, 7, 8) }, right];
const turns = (count: bigint) => [{ index: 0, shape: [1], data: int64(count) }];

export function testBatches({ models, open, share }: LaneTools): void {
  test('runs a batch and answers with the outputs asked for, in that order', async () => {
    const probe = share();
    await probe.load(models.arithmetic(1));
    const both = await probe.answered(probe.dispatch(1, rows(1), [1, 0]));
    expect(both.outputs.map(({ index }) => index)).toEqual([1, 0]);
    expect(both.outputs.map(({ shape }) => shape)).toEqual([
      [2, 4],
      [2, 4],
    ]);
    expect([...(both.outputs[0]?.data ?? [])]).toEqual([...floats(10, 20, 30, 40, 10, 12, 14, 16)]);
    expect([...(both.outputs[1]?.data ?? [])]).toEqual([...floats(11, 12, 13, 14, 7, 8, 9, 10)]);
    expect(both.runMicros).toBeGreaterThan(0);
    both.region.release();
    expect(() => both.region.release()).toThrow(/released twice/);
    const one = await probe.answered(probe.dispatch(1, rows(2), [0]));
    expect(one.outputs.map(({ index }) => index)).toEqual([0]);
    one.region.release();
  });

  test('a dispatch right behind its load is answered, for messages keep their order', async () => {
    const probe = open();
    await probe.until('credit');
    probe.call((link) => link.send({ kind: 'load', spec: models.arithmetic(1) }));
    const batch = probe.dispatch(1, rows(1), [0]);
    await probe.answered(batch);
    expect(probe.received.map(({ kind }) => kind)).toEqual(['credit', 'ready', 'answered']);
  });

  test('answers in dispatch order, failures among them', async () => {
    const probe = share();
    await probe.load(models.counting(1));
    const slow = probe.dispatch(1, turns(20_000n), [0]);
    const unknown = probe.dispatch(99, [], [0]);
    expect((await probe.failed(unknown)).code).toBe('unknown-model');
    const answers = probe.received.filter((message) => message.kind === 'answered' || message.kind === 'failed');
    expect(answers.map(({ batch }) => batch)).toEqual([slow, unknown]);
  });

  test('carries every datatype unchanged both ways', async () => {
    const probe = share();
    await probe.load(models.everyDatatype(1));
    const inputs: BatchTensor[] = numericDatatypes.map((datatype, index) => {
      const bytes = new Uint8Array(6 * (datatypes[datatype].bytes ?? 0));
      for (let at = 0; at < bytes.length; at++) bytes[at] = datatype === 'BOOL' ? at % 2 : (at * 31 + index) & 0x3f;
      return { index, shape: [3, 2], data: bytes };
    });
    const strings = texts('', 'a', 'żółw 🐢', '\ufeffwith a mark', 'line\nbreak', 'x'.repeat(300));
    inputs.push({ index: numericDatatypes.length, shape: [3, 2], data: strings });
    const wanted = inputs.map(({ index }) => index);
    const answer = await probe.answered(probe.dispatch(1, inputs, wanted));
    for (const { index, shape, data } of answer.outputs) {
      expect(shape).toEqual([3, 2]);
      expect([index, ...data]).toEqual([index, ...(inputs[index]?.data ?? [])]);
      expect(data.byteOffset % 8).toBe(0);
    }
    answer.region.release();
  });

  test('refuses strings that the engine would change, and keeps running', async () => {
    const probe = share();
    await probe.load(models.everyDatatype(1));
    const withStrings = (data: Uint8Array) => [
      ...numericDatatypes.map((datatype, index) => ({
        index,
        shape: [1, 2],
        data: new Uint8Array(2 * (datatypes[datatype].bytes ?? 0)),
      })),
      { index: numericDatatypes.length, shape: [1, 2], data },
    ];
    const refusals: [Uint8Array, RegExp][] = [
      [texts('fine', Uint8Array.of(0xff, 0xfe)), /element 1 of input "input12" is not valid UTF-8/],
      [texts('a\0b', 'fine'), /element 0 of input "input12" contains a zero byte/],
    ];
    for (const [data, message] of refusals) {
      const failure = await probe.failed(probe.dispatch(1, withStrings(data), [0]));
      expect(failure.code).toBe('unsupported');
      expect(failure.message).toMatch(message);
    }
    const short = await probe.failed(probe.dispatch(1, withStrings(texts('only one')), [0]));
    expect(short.code).toBe('inference-failed');
    await probe.answered(probe.dispatch(1, withStrings(texts('now', 'fine')), [0]));
  });

  test('carries tensors of every size, aligned and intact', async () => {
    const probe = share();
    const sizes = [1, 16, 1000, 2048, 2049, 16_384, 150_000, 1_000_000];
    for (const [position, columns] of sizes.entries()) {
      await probe.load(models.identity(position, columns));
      const data = new Uint8Array(columns * 8);
      for (let at = 0; at < data.length; at++) data[at] = (at * 7 + position) & 0x3f;
      const answer = await probe.answered(probe.dispatch(position, [{ index: 0, shape: [2, columns], data }], [0]));
      expect(Buffer.compare(answer.outputs[0]?.data ?? new Uint8Array(), data)).toBe(0);
      expect((answer.outputs[0]?.data.byteOffset ?? 1) % 8).toBe(0);
      answer.region.release();
    }
  });

  test('an answer stays intact while it is held, whatever comes after it', async () => {
    const probe = share();
    await probe.load(models.identity(1, 5000));
    const held: { fill: number; data: Uint8Array; release: () => void }[] = [];
    for (let fill = 1; fill <= 40; fill++) {
      const input = { index: 0, shape: [1, 5000], data: new Uint8Array(20_000).fill(fill) };
      const answer = await probe.answered(probe.dispatch(1, [input], [0]));
      held.push({
        fill,
        data: answer.outputs[0]?.data ?? new Uint8Array(),
        release: () => answer.region.release(),
      });
    }
    for (const { fill, data, release } of held) {
      expect(data.length).toBe(20_000);
      expect(data.every((byte) => byte === fill)).toBe(true);
      release();
      expect(release).toThrow(/released/);
    }
  });

  test('carries outputs whose size only the run knows, also empty ones', async () => {
    const probe = share();
    await probe.load(models.positions(1));
    const some = await probe.answered(probe.dispatch(1, [{ index: 0, shape: [5], data: floats(0, 1, 0, 1, 1) }], [0]));
    expect(some.outputs[0]?.shape).toEqual([1, 3]);
    expect([...new BigInt64Array(Uint8Array.from(some.outputs[0]?.data ?? []).buffer)]).toEqual([1n, 3n, 4n]);
    const none = await probe.answered(probe.dispatch(1, [{ index: 0, shape: [2], data: floats(0, 0) }], [0]));
    expect(none.outputs[0]).toMatchObject({ shape: [1, 0] });
    expect(none.outputs[0]?.data.length).toBe(0);
  });

  test('a batch that the model fails on is answered with the failure, and the next one runs', async () => {
    const probe = share();
    await probe.load(models.gather(1));
    const at = (index: bigint) => [
      { index: 0, shape: [3], data: floats(5, 6, 7) },
      { index: 1, shape: [1], data: int64(index) },
    ];
    const failure = await probe.failed(probe.dispatch(1, at(9n), [0]));
    expect(failure.code).toBe('inference-failed');
    expect(failure.message).toMatch(/idx=9 must be within/);
    const answer = await probe.answered(probe.dispatch(1, at(2n), [0]));
    expect([...(answer.outputs[0]?.data ?? [])]).toEqual([...floats(7)]);
  });

  test('a batch that contradicts its model fails, and the next one runs', async () => {
    const probe = share();
    await probe.load(models.arithmetic(1));
    const left = { index: 0, shape: [2, 4], data: floats(1, 2, 3, 4, 5, 6, 7, 8) };
    const wrong: [Parameters<LinkProbe['dispatch']>[1], number[], RegExp][] = [
      [[left], [0], /right.*missing/],
      [[left, { ...right, shape: [1, 4] }], [0], /32 bytes, not the 4 FP32 elements/],
      [[left, right, { ...right, index: 5 }], [0], /no input number 5/],
      [[left, right], [6], /no output number 6/],
      [[left, right], [], /no output was requested/],
    ];
    for (const [inputs, outputs, message] of wrong) {
      const failure = await probe.failed(probe.dispatch(1, inputs, outputs));
      expect(failure).toMatchObject({ code: 'inference-failed', message: expect.stringMatching(message) });
    }
    await probe.answered(probe.dispatch(1, rows(1), [0]));
  });
}
