/** What holds for every edge whose clients send inputs one by one. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { EdgeClient, valueFrame, wrongInputs } from './edge-client.ts';
import { type EdgeUnderTest, retainedOutputsMax, unlessLacking } from './edge-under-test.ts';

/** Of every stream. */
const reorderInputsMax = 64;
const totals = ['1/1: 1', '2/2: 3', '3/3: 6', '4/4: 10'];

export function manyInputsContract(edge: EdgeUnderTest): void {
  const { dialect } = edge;
  const client = (open: ConstructorParameters<typeof EdgeClient>[2]): EdgeClient =>
    new EdgeClient(dialect, edge.address(), open);
  const some = (...values: readonly number[]) => values.map((value) => valueFrame(value, value));

  describe(`${dialect.name}: a stream of many inputs`, () => {
    test('is answered in order, once, and ends', async () => {
      const stream = await client({ streamId: randomUUID() }).opened();
      expect(stream.frames[0]).toMatchObject({
        kind: 'opened',
        nextOutput: 1,
        acceptedInput: 0,
        model: 'running_total',
      });
      stream.send(...some(1, 2, 3), valueFrame(4, 4, true));
      expect(await stream.ended()).toBe('done');
      expect(stream.totals).toEqual(totals);
      expect(stream.frames.at(-1)).toMatchObject({ kind: 'ended', outputs: 4 });
    });

    test('takes inputs in any order within the window, and repeated ones once', async () => {
      const stream = await client({ streamId: randomUUID() }).opened();
      stream.send(...some(2, 1, 2, 3, 1), valueFrame(4, 4, true));
      expect(await stream.ended()).toBe('done');
      expect(stream.totals).toEqual(totals);
    });

    test('goes on after a lost connection, with what the client has not seen', async () => {
      const streamId = randomUUID();
      const first = await client({ streamId }).opened();
      first.send(...some(1, 2));
      await first.outputs(2);
      first.cut();
      const second = await client({ streamId, mode: 'resume', resumeAfter: 1 }).opened();
      expect(second.frames[0]).toMatchObject({ kind: 'opened', nextOutput: 2, acceptedInput: 2 });
      second.send(...some(2, 3), valueFrame(4, 4, true));
      expect(await second.ended()).toBe('done');
      expect(second.totals).toEqual(totals.slice(1));
    });

    test('tells its ending again to whoever resumes it', async () => {
      const streamId = randomUUID();
      const first = await client({ streamId }).opened();
      first.send(valueFrame(1, 1, true));
      await first.ended();
      const second = client({ streamId, mode: 'resume', resumeAfter: 0 });
      expect([await second.ended(), second.totals]).toEqual(['done', totals.slice(0, 1)]);
    });

    test('is taken over by a later client, and the earlier one is told', async () => {
      const streamId = randomUUID();
      const first = await client({ streamId }).opened();
      const second = await client({ streamId, mode: 'resume' }).opened();
      expect(await first.refused()).toBe('stream-superseded');
      second.send(valueFrame(1, 1, true));
      expect(await second.ended()).toBe('done');
    });

    test('is cancelled by its client', async () => {
      const stream = await client({ streamId: randomUUID() }).opened();
      stream.send(valueFrame(1, 1));
      await stream.outputs(1);
      stream.send({ kind: 'cancel', reason: 'enough' });
      expect(await stream.ended()).toBe('cancelled cancelled');
    });

    test.each(['datatype', 'shape', 'name'])('refuses an input of a wrong %s, and goes on', async (wrong) => {
      const streamId = randomUUID();
      const first = await client({ streamId }).opened();
      first.send(valueFrame(1, 1));
      await first.outputs(1);
      const input = wrongInputs(2).get(wrong) as ReturnType<typeof valueFrame>;
      if (edge.sendAlone === undefined) {
        first.send(input);
        expect(await first.refused()).toBe('invalid-request');
        expect(first.closed).toContain('input 2');
      } else {
        expect(await edge.sendAlone(streamId, input)).toBe('invalid-request');
        expect(first.closed).toBeUndefined();
        first.cut();
      }
      const second = await client({ streamId, mode: 'resume', resumeAfter: 1 }).opened();
      expect(second.frames[0]).toMatchObject({ kind: 'opened', acceptedInput: 1 });
      second.send(valueFrame(2, 2, true));
      expect([await second.ended(), second.totals]).toEqual(['done', ['2/2: 3']]);
    });

    test('ends by name when an input is beyond the reorder window', async () => {
      const streamId = randomUUID();
      const stream = await client({ streamId }).opened();
      const input = valueFrame(reorderInputsMax + 2, 1);
      // Where inputs have requests of their own, the client of the chaos test leaves at the refusal, which may come before the ending.
      if (edge.sendAlone === undefined) stream.send(input);
      else expect(await edge.sendAlone(streamId, input)).toBe('sequence-gap');
      expect(await stream.ended()).toBe('failed sequence-gap');
    });

    unlessLacking(edge, 'modes')('is opened as its mode says', async () => {
      const streamId = randomUUID();
      expect(await client({ streamId, mode: 'resume' }).refused()).toBe('stream-not-found');
      await client({ streamId, mode: 'new' }).opened();
      expect(await client({ streamId, mode: 'new' }).refused()).toBe('stream-conflict');
      const again = await client({ streamId, mode: 'either' }).opened();
      expect(again.frames[0]?.kind).toBe('opened');
    });

    test('is not another one by the same id', async () => {
      const streamId = randomUUID();
      await client({ streamId }).opened();
      expect(await client({ streamId, context: 'running_total:1' }).refused()).toBe('stream-conflict');
      expect(await client({ streamId: randomUUID(), context: 'nobody' }).refused()).toBe('unknown-model');
    });

    unlessLacking(edge, 'output credit')('is paced by the credit of its client', async () => {
      const stream = await client({ streamId: randomUUID(), outputCredit: { messages: 1, bytes: 1000 } }).opened();
      stream.send(...some(1, 2, 3), valueFrame(4, 4, true));
      await stream.outputs(1);
      await stream.accepted(4);
      expect(stream.totals).toEqual(totals.slice(0, 1));
      stream.send({ kind: 'acknowledge', output: 1, outputCredit: { messages: 2, bytes: 1000 } });
      await stream.outputs(3);
      expect(stream.totals).toEqual(totals.slice(0, 3));
      stream.send({ kind: 'acknowledge', output: 3, outputCredit: { messages: 2, bytes: 1000 } });
      expect(await stream.ended()).toBe('done');
      expect(stream.totals).toEqual(totals);
    });

    test('refuses to resume before outputs that are no longer kept', async () => {
      const streamId = randomUUID();
      const count = 3 * retainedOutputsMax;
      const first = await client({ streamId }).opened();
      for (let input = 1; input <= count; input++) {
        first.send(valueFrame(input, 1));
        await first.outputs(input);
        first.send({ kind: 'acknowledge', output: input, outputCredit: { messages: 100, bytes: 100_000 } });
      }
      first.cut();
      expect(await client({ streamId, mode: 'resume', resumeAfter: 1 }).refused()).toBe('output-expired');
      const second = await client({ streamId, mode: 'resume', resumeAfter: count }).opened();
      second.send(valueFrame(count + 1, 1, true));
      expect([await second.ended(), second.totals]).toEqual(['done', [`${count + 1}/${count + 1}: ${count + 1}`]]);
    });
  });
}
