import { MemoryRefused, type RequestMemory } from '@millrace/http';
import { neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { InferAnswer } from '../../data-plane/infer.ts';
import { jsonForm } from '../classification/answer-form.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { AnswerEncoder } from './answer-encoder.ts';
import { restDefaults } from './config.ts';

const mebibyte = 1024 * 1024;

function memoryOf(bytesMax: number): RequestMemory & { heldBytes: number } {
  return {
    heldBytes: 0,
    hold(bytes) {
      this.heldBytes += bytes;
    },
    isWaiting: false,
    give: () => {},
    hasRoomToAnswer: (bytes) => bytes <= bytesMax,
  };
}

/** As JSON an element of 255 takes four bytes. */
const answer: InferAnswer = {
  model: 'm',
  version: '1',
  id: '',
  outputs: [{ name: 'y', datatype: 'UINT8', shape: [mebibyte], data: new Uint8Array(mebibyte).fill(255) }],
  release: () => {},
};

const form = { listed: new Map(), unlisted: jsonForm };

function encoderUnderTest() {
  let slices = 0;
  const queue = new SliceQueue((run) => {
    slices += 1;
    setImmediate(run);
  });
  const encoder = new AnswerEncoder({} as Catalogue, restDefaults, queue);
  const encode = (memory: RequestMemory) =>
    encoder.encodeInSlices(answer, form, 'ann', { signal: neverCancelled, memory });
  return { encode, slicesRun: () => slices };
}

test('what is made of a large answer is held as it is made', async () => {
  const { encode } = encoderUnderTest();
  const memory = memoryOf(5 * mebibyte);
  const { bytes } = await encode(memory);
  expect(bytes).toBeGreaterThan(4 * mebibyte);
  // All but what follows the last slice.
  expect(memory.heldBytes).toBeGreaterThan(bytes - 64 * 1024);
  expect(memory.heldBytes).toBeLessThanOrEqual(bytes);
});

test('an answer for which there is no room is refused when that shows, not when all of it is made', async () => {
  const whole = encoderUnderTest();
  await whole.encode(memoryOf(5 * mebibyte));
  const { encode, slicesRun } = encoderUnderTest();
  const memory = memoryOf(mebibyte);
  await expect(encode(memory)).rejects.toBeInstanceOf(MemoryRefused);
  expect(memory.heldBytes).toBeLessThanOrEqual(mebibyte);
  expect(slicesRun()).toBeLessThan(whole.slicesRun() / 2);
});
