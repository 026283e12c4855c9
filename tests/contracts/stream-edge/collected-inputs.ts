/** What holds for every edge whose clients send inputs one by one, and get the last output with the end. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { EdgeClient, valueFrame, wrongInputs } from './edge-client.ts';
import type { EdgeUnderTest } from './edge-under-test.ts';

/** Of every stream. */
const reorderInputsMax = 64;

export function collectedInputsContract({ dialect, address }: EdgeUnderTest): void {
  const call = (
    open: ConstructorParameters<typeof EdgeClient>[2],
    ...inputs: readonly ReturnType<typeof valueFrame>[]
  ): EdgeClient => new EdgeClient(dialect, address(), open).send(...inputs);
  const some = (...values: readonly number[]) => values.map((value) => valueFrame(value, value));
  const all = [...some(1, 2, 3), valueFrame(4, 4, true)];

  describe(`${dialect.name}: a stream of many inputs and one answer`, () => {
    test('is answered by its last output, and the end', async () => {
      const stream = call({ streamId: randomUUID() }, ...all);
      expect([await stream.ended(), stream.totals]).toEqual(['done', ['4/4: 10']]);
      expect(stream.frames.map(({ kind }) => kind)).toEqual(['output', 'ended']);
      expect(stream.frames.at(-1)).toMatchObject({ kind: 'ended', outputs: 4 });
    });

    test('takes inputs in any order within the window, and repeated ones once', async () => {
      const stream = call({ streamId: randomUUID() }, ...some(2, 1, 2, 3, 1), valueFrame(4, 4, true));
      expect([await stream.ended(), stream.totals]).toEqual(['done', ['4/4: 10']]);
    });

    test('takes more inputs than the server has room for at once', async () => {
      const count = 3 * reorderInputsMax;
      const ones = Array.from({ length: count }, (_, index) => valueFrame(index + 1, 1, index + 1 === count));
      const stream = call({ streamId: randomUUID() }, ...ones);
      expect([await stream.ended(), stream.totals]).toEqual(['done', [`${count}/${count}: ${count}`]]);
    });

    test('gives the same answer to the same call, run once', async () => {
      const streamId = randomUUID();
      await call({ streamId }, ...all).ended();
      const again = call({ streamId }, ...all);
      expect([await again.ended(), again.totals]).toEqual(['done', ['4/4: 10']]);
    });

    test('goes on after a lost connection, whatever of it had come', async () => {
      const streamId = randomUUID();
      call({ streamId }, ...some(1, 2)).cut();
      const second = call({ streamId }, ...all);
      expect([await second.ended(), second.totals]).toEqual(['done', ['4/4: 10']]);
    });

    test('is taken over by a later client, and the earlier one is told', async () => {
      const streamId = randomUUID();
      // The first one is known to be attached when it has an effect: a second stream of the id is refused.
      const first = call({ streamId, mode: 'new' }, ...some(1));
      const isKnown = async () => (await call({ streamId, mode: 'new' }).refused()) === 'stream-conflict';
      expect(await isKnown()).toBe(true);
      const second = call({ streamId, mode: 'resume' }, ...all);
      expect(await first.refused()).toBe('stream-superseded');
      expect([await second.ended(), second.totals]).toEqual(['done', ['4/4: 10']]);
    });

    test('is cancelled by its client', async () => {
      const stream = call({ streamId: randomUUID() }, ...some(1)).send({ kind: 'cancel', reason: 'enough' });
      expect(await stream.refused()).toBe('cancelled');
      expect(stream.frames).toEqual([]);
    });

    test.each(['datatype', 'shape', 'name'])('refuses an input of a wrong %s, and goes on', async (wrong) => {
      const streamId = randomUUID();
      const refused = call({ streamId }, valueFrame(1, 1), wrongInputs(2).get(wrong) as ReturnType<typeof valueFrame>);
      expect(await refused.refused()).toBe('invalid-request');
      expect(refused.closed).toContain('input 2');
      const corrected = call({ streamId, mode: 'resume' }, ...all);
      expect([await corrected.ended(), corrected.totals]).toEqual(['done', ['4/4: 10']]);
    });

    test('ends by name when an input is beyond the reorder window', async () => {
      const stream = call({ streamId: randomUUID() }, valueFrame(reorderInputsMax + 2, 1));
      expect(await stream.refused()).toBe('sequence-gap');
    });

    test('is opened as its mode says', async () => {
      const streamId = randomUUID();
      expect(await call({ streamId, mode: 'resume' }, ...all).refused()).toBe('stream-not-found');
      expect(await call({ streamId, mode: 'new' }, ...all).ended()).toBe('done');
      expect(await call({ streamId, mode: 'new' }, ...all).refused()).toBe('stream-conflict');
    });

    test('is not another one by the same id', async () => {
      const streamId = randomUUID();
      await call({ streamId }, ...all).ended();
      expect(await call({ streamId, context: 'running_total:1' }, ...all).refused()).toBe('stream-conflict');
      expect(await call({ streamId: randomUUID(), context: 'nobody' }, ...all).refused()).toBe('unknown-model');
    });
  });
}
