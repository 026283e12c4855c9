import { Cancellation, encodeBytesElements, type Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { bytesCheckBytesMax, bytesCheckSlices } from './bytes-check.ts';
import { servedModel } from './testing/models.ts';
import { PlaneHarness } from './testing/plane-harness.ts';

const textsOf = (data: Uint8Array, count: number): Tensor => ({
  name: 'x',
  datatype: 'BYTES',
  shape: [1, count],
  data,
});

function checked(tensor: Tensor, mustBeText = true): { readonly turns: number; readonly problem: string | undefined } {
  const slices = bytesCheckSlices(tensor, 'm', mustBeText);
  for (let turns = 1; ; turns++) {
    const step = slices.next();
    if (step.done === true) return { turns, problem: step.value };
  }
}

test('a million empty elements are checked in slices', () => {
  const count = 1_000_000;
  const { turns, problem } = checked(textsOf(new Uint8Array(4 * count), count));
  expect(problem).toBeUndefined();
  expect(turns).toBeGreaterThan(10);
});

test('problems are found at any position, with the same messages as for small tensors', () => {
  const count = 200_000;
  const good = new Uint8Array(4 * count);
  expect(checked(textsOf(good, count + 1)).problem).toBe(
    "input 'x' for model 'm': the data has 200000 BYTES elements, but the shape has 200001",
  );
  expect(checked(textsOf(good, count - 1)).problem).toMatch(/4 bytes follow the 199999 BYTES elements/);
  const texts = Array.from({ length: count }, (_, index) => Buffer.from(index === count - 1 ? [0x80] : 'text'));
  const invalid = textsOf(encodeBytesElements(texts), count);
  expect(checked(invalid).problem).toBe("element 199999 of input 'x' for model 'm' is not valid UTF-8");
  expect(checked(invalid, false).problem).toBeUndefined();
  for (const zero of ['a\0', `${'a'.repeat(100)}\0`]) {
    expect(checked(textsOf(encodeBytesElements([zero]), 1)).problem).toMatch(/^element 0 of .* contains a zero byte$/);
  }
  expect(checked(textsOf(encodeBytesElements(['ü', 'ü'.repeat(100), '']), 3)).problem).toBeUndefined();
});

class TextHarness extends PlaneHarness {
  constructor() {
    const tensor = { datatype: 'BYTES', shape: [-1, -1] } as const;
    super({}, servedModel([{ name: 'x', ...tensor }], [{ name: 'y', ...tensor }], {}, { queueBytesMax: 1e9 }));
  }

  texts(count: number, shape = count, timeoutMs?: number) {
    return this.send([], timeoutMs, { inputs: [textsOf(new Uint8Array(4 * count), shape)] });
  }
}

const many = bytesCheckBytesMax;

test('a request with many texts is checked in slices, and refused or run like any other', async () => {
  const harness = new TextHarness();
  const link = harness.worker(1);
  const [good, bad] = [harness.texts(many), harness.texts(many, many + 1)];
  harness.clock.endOneTurn();
  expect([link.inFlight.length, harness.plane.sliced.count]).toEqual([0, 2]);
  await harness.turn();
  expect([link.inFlight.length, bad.result]).toEqual([1, 'invalid-request']);
  link.answers();
  await harness.turn();
  expect(good.answer?.outputs[0]?.data.length).toBe(4 * many);
  expect(harness.metric('millrace_failures_total', ',code="invalid-request"')).toBe(1);
});

test('a caller that cancels while its texts are checked is rejected, and nothing more is read', async () => {
  const harness = new TextHarness();
  const link = harness.worker(1);
  const sent = harness.texts(many);
  harness.clock.endOneTurn();
  sent.cancellation.cancel('cancelled');
  expect(harness.plane.sliced.count).toBe(0);
  await harness.turn();
  expect([sent.result, link.inFlight.length]).toEqual(['cancelled', 0]);
  const late = new Cancellation();
  late.cancel('deadline-exceeded');
  const inputs = [textsOf(new Uint8Array(4 * many), many)];
  expect(await harness.sendWith(late, [], undefined, { inputs }).outcome).toBe('deadline-exceeded');
  expect(harness.plane.sliced.count).toBe(0);
});

test('the time of the check counts against the deadline', async () => {
  const harness = new TextHarness();
  const sent = harness.texts(many, many, 50);
  harness.clock.endOneTurn();
  harness.clock.advance(50);
  await harness.turn();
  expect(sent.result).toBe('deadline-exceeded');
});
