/** What holds for every edge whose clients send one input with the opening. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { EdgeClient, valueFrame, wrongInputs } from './edge-client.ts';
import { type EdgeUnderTest, unlessLacking } from './edge-under-test.ts';

export function oneInputContract(edge: EdgeUnderTest): void {
  const { dialect } = edge;
  const call = (
    open: ConstructorParameters<typeof EdgeClient>[2],
    input: ReturnType<typeof valueFrame> = valueFrame(1, 5, true),
  ): EdgeClient => new EdgeClient(dialect, edge.address(), open).send(input);

  describe(`${dialect.name}: a stream of one input`, () => {
    test('is answered and ends', async () => {
      const stream = call({ streamId: randomUUID() });
      expect([await stream.ended(), stream.totals]).toEqual(['done', ['1/1: 5']]);
      expect(stream.frames[0]).toMatchObject({ kind: 'opened', nextOutput: 1 });
    });

    test('gives the same answer to the same call, run once', async () => {
      const streamId = randomUUID();
      await call({ streamId }).ended();
      const again = call({ streamId });
      expect([await again.ended(), again.totals]).toEqual(['done', ['1/1: 5']]);
      const after = call({ streamId, resumeAfter: 1 });
      expect([await after.ended(), after.totals]).toEqual(['done', []]);
    });

    test('is not another one by the same id', async () => {
      const streamId = randomUUID();
      await call({ streamId }).ended();
      expect(await call({ streamId, context: 'running_total:1' }).refused()).toBe('stream-conflict');
      expect(await call({ streamId: randomUUID(), context: 'nobody' }).refused()).toBe('unknown-model');
    });

    unlessLacking(edge, 'modes')('is opened as its mode says', async () => {
      const streamId = randomUUID();
      expect(await call({ streamId, mode: 'resume' }).refused()).toBe('stream-not-found');
      expect(await call({ streamId, mode: 'new' }).ended()).toBe('done');
      expect(await call({ streamId, mode: 'new' }).refused()).toBe('stream-conflict');
    });

    test.each(['datatype', 'shape', 'name'])(
      'refuses an input of a wrong %s, and takes it corrected',
      async (wrong) => {
        const streamId = randomUUID();
        const input = { ...(wrongInputs(1).get(wrong) as ReturnType<typeof valueFrame>), endOfInput: true };
        const refused = call({ streamId }, input);
        expect(await refused.refused()).toBe('invalid-request');
        const corrected = call({ streamId });
        expect([await corrected.ended(), corrected.totals]).toEqual(['done', ['1/1: 5']]);
      },
    );
  });
}
