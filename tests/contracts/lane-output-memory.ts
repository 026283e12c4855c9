/** Part of the lane contract: what is answered was written for its batch, in memory that other batches have used before. */
import type { BatchTensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { LaneTools } from './lane.ts';
import { numericDatatypes } from './model-folder.ts';
import { floats } from './tensor-bytes.ts';

/** In the message, and in shared memory where there is any. */
const columnCounts = [4, 40_000];

export function testOutputMemory({ models, share, openSilent }: LaneTools): void {
  test.each(columnCounts)(
    'an output of %i numbers that the engine leaves unwritten is never answered',
    async (columns) => {
      const probe = openSilent();
      await probe.load(models.identity(1, columns));
      const rows = (fill: number) => [{ index: 0, shape: [1, columns], data: new Uint8Array(4 * columns).fill(fill) }];
      for (let round = 0; round < 10; round++) {
        // Another caller's data, in memory that the next batch is lent.
        const written = await probe.answered(probe.dispatch(1, rows(7), [0]));
        expect(written.outputs[0]?.data.every((byte) => byte === 7)).toBe(true);
        written.region.release();
        const failure = await probe.failed(probe.dispatch(1, rows(0), [0]));
        expect(failure).toMatchObject({ code: 'inference-failed', message: expect.stringMatching(/was not written/) });
      }
    },
  );

  test.each(columnCounts)('outputs that the engine does not compute are answered: %i numbers', async (columns) => {
    const probe = share();
    await probe.load(models.identity(1, columns));
    await probe.load(models.passing(2, columns));
    const secret = new Uint8Array(4 * columns).fill(7);
    for (let round = 1; round <= 10; round++) {
      const others = await probe.answered(probe.dispatch(1, [{ index: 0, shape: [1, columns], data: secret }], [0]));
      others.region.release();
      const given = floats(...new Array<number>(columns).fill(round));
      const answer = await probe.answered(
        probe.dispatch(2, [{ index: 0, shape: [1, columns], data: given }], [0, 1, 2]),
      );
      const expected = [round, 1, 2 * round].map((value) => floats(...new Array<number>(columns).fill(value)));
      expect(answer.outputs.map(({ data }, index) => Buffer.compare(data, expected[index] as Uint8Array))).toEqual([
        0, 0, 0,
      ]);
      answer.region.release();
    }
  });

  test('tensors with a dimension of zero pass both ways, numbers and strings', async () => {
    const probe = share();
    await probe.load(models.everyDatatype(1));
    const empty: BatchTensor[] = [...numericDatatypes, 'BYTES' as const].map((_, index) => ({
      index,
      shape: [0, 2],
      data: new Uint8Array(0),
    }));
    const wanted = empty.map(({ index }) => index);
    for (let round = 0; round < 2; round++) {
      const answer = await probe.answered(probe.dispatch(1, empty, wanted));
      expect(answer.outputs.map(({ shape, data }) => [shape, data.length])).toEqual(wanted.map(() => [[0, 2], 0]));
      answer.region.release();
    }
    await probe.load(models.identity(2, 4));
    const none = await probe.answered(probe.dispatch(2, [{ index: 0, shape: [0, 4], data: new Uint8Array(0) }], [0]));
    expect(none.outputs[0]).toMatchObject({ shape: [0, 4] });
  });
}
