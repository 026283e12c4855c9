/** Part of the lane contract: the life of a worker, from its first message to its last, and the models it holds. */
import { expect, test } from 'vitest';
import type { LaneTools } from './lane.ts';
import { floats, int64 } from './tensor-bytes.ts';

const right = { index: 1, shape: [2, 4], data: floats(10, 10, 10, 10, 2, 2, 2, 2) };
const rows = (first: number) => [{ index: 0, shape: [2, 4], data: floats(first, 2, 3, 4, 5, 6, 7, 8) }, right];
const turns = (count: bigint) => [{ index: 0, shape: [1], data: int64(count) }];

export function testLife({ name, models, open, share, createLane, life, startsProcess }: LaneTools): void {
  test('says its name, and its process where it starts one', () => {
    const probe = open();
    expect(createLane()).toMatchObject({ name: name.split(',')[0], life });
    if (startsProcess) expect(probe.link.pid).toBeGreaterThan(1);
    else expect(probe.link.pid).toBeUndefined();
  });

  test('grants credit before anything else', async () => {
    const probe = open();
    await probe.load(models.arithmetic(1));
    expect(probe.received[0]).toEqual({ kind: 'credit', batchesMax: 2 });
  });

  test('says who the worker is when it has greeted, where it greets', async () => {
    const probe = open();
    await probe.until('credit');
    const { identity } = probe.link;
    if (name === 'inline') expect(identity).toBeUndefined();
    else expect([identity?.id, identity?.incarnation, identity?.loaded.length]).not.toContain(undefined);
  });

  test('loads a model and says what that took', async () => {
    const probe = open();
    probe.call((link) => link.send({ kind: 'load', spec: models.arithmetic(7) }));
    const ready = await probe.until('ready');
    expect(ready.model).toBe(7);
    expect(ready.loadMs).toBeGreaterThan(0);
    expect(ready.residentBytes).toBeGreaterThan(10_000_000);
  });

  test('says why a model could not be loaded, and takes another', async () => {
    const probe = share();
    const missing = { ...models.arithmetic(1), path: '/nowhere/model.onnx' };
    probe.call((link) => link.send({ kind: 'load', spec: missing }));
    expect((await probe.until('load-failed')).message).toMatch(/"arithmetic" version 1 could not be loaded: .*exist/);
    await probe.load(models.arithmetic(2));
    probe.call((link) => link.send({ kind: 'load', spec: models.arithmetic(2) }));
    const again = await probe.until('load-failed', ({ model }) => model === 2);
    expect(again.message).toMatch(/already loaded/);
    await probe.answered(probe.dispatch(2, rows(1), [0]));
  });

  test('holds several models, and drops the one that is unloaded', async () => {
    const probe = share();
    await probe.load(models.arithmetic(1));
    await probe.load(models.counting(2));
    await probe.answered(probe.dispatch(1, rows(1), [0]));
    probe.call((link) => link.send({ kind: 'unload', model: 1 }));
    probe.call((link) => link.send({ kind: 'unload', model: 55 }));
    expect((await probe.failed(probe.dispatch(1, rows(1), [0]))).code).toBe('unknown-model');
    await probe.answered(probe.dispatch(2, turns(3n), [0]));
    await probe.load(models.arithmetic(1));
    await probe.answered(probe.dispatch(1, rows(1), [0]));
  });

  test('skips a batch that was cancelled while it waited, and answers it in its turn', async () => {
    const probe = share();
    await probe.load(models.counting(1));
    const running = probe.dispatch(1, turns(20_000n), [0]);
    const waiting = probe.dispatch(1, turns(300_000n), [0]);
    probe.call((link) => link.send({ kind: 'cancel', batch: waiting }));
    probe.call((link) => link.send({ kind: 'cancel', batch: 12_345 }));
    expect(await probe.failed(waiting)).toMatchObject({ batch: waiting, code: 'cancelled' });
    const answers = probe.received.filter((message) => message.kind === 'answered' || message.kind === 'failed');
    expect(answers.map(({ kind, batch }) => [kind, batch])).toEqual([
      ['answered', running],
      ['failed', waiting],
    ]);
    probe.call((link) => link.send({ kind: 'cancel', batch: running }));
    await probe.answered(probe.dispatch(1, turns(1n), [0]));
  });

  test('releases the memory of a dispatch exactly once, when it is answered or the worker is gone', async () => {
    const probe = open();
    await probe.load(models.counting(1));
    const released: string[] = [];
    await probe.answered(probe.dispatch(1, turns(1n), [0], () => released.push('answered')));
    await probe.failed(probe.dispatch(9, turns(1n), [0], () => released.push('failed')));
    expect(released).toEqual(['answered', 'failed']);
    probe.dispatch(1, turns(5000n), [0], () => released.push('in flight'));
    probe.dispatch(1, turns(5000n), [0], () => released.push('waiting'));
    await probe.end();
    expect(released).toEqual(['answered', 'failed', 'in flight', 'waiting']);
    probe.dispatch(1, turns(1n), [0], () => released.push('too late'));
    expect(released).toContain('too late');
  });

  test('stop lets the worker finish what it holds', async () => {
    const probe = open();
    await probe.load(models.counting(1));
    const batches = [probe.dispatch(1, turns(20_000n), [0]), probe.dispatch(1, turns(10n), [0])];
    probe.call((link) => link.stop());
    probe.call((link) => link.stop());
    await probe.until('gone');
    const kinds = probe.received.map(({ kind }) => kind);
    expect(kinds).toEqual(['credit', 'ready', 'answered', 'answered', 'gone']);
    const answers = await Promise.all(batches.map((batch) => probe.answered(batch)));
    // Readable although the worker that wrote them is no more.
    expect([...(answers[0]?.outputs[0]?.data ?? [])]).toEqual([...int64(20_000n)]);
    for (const { region } of answers) region.release();
  });

  test('a stopping worker takes nothing new, but skips what is cancelled', async () => {
    const probe = open();
    await probe.load(models.counting(1));
    const running = probe.dispatch(1, turns(20_000n), [0]);
    const waiting = probe.dispatch(1, turns(300_000n), [0]);
    probe.call((link) => link.stop());
    probe.call((link) => link.send({ kind: 'cancel', batch: waiting }));
    let isReleased = false;
    const late = probe.dispatch(1, turns(1n), [0], () => {
      isReleased = true;
    });
    await probe.until('gone');
    await probe.answered(running);
    expect((await probe.failed(waiting)).code).toBe('cancelled');
    await expect(probe.answer(late)).rejects.toThrow(/is gone/);
    expect(isReleased).toBe(true);
  });

  test('stop ends an idle worker', async () => {
    const probe = open();
    probe.call((link) => link.stop());
    expect((await probe.until('gone')).reason).not.toBe('');
  });

  test('kill ends the worker, or the link, in the middle of a run: it is gone, and never answers', async () => {
    const probe = open();
    await probe.load(models.counting(1));
    const first = probe.dispatch(1, turns(1n), [0]);
    // In a process of its own it would run for hours; otherwise it has to end before anything else can happen there.
    const endless = probe.dispatch(1, turns(startsProcess ? 100_000_000_000n : 20_000n), [0]);
    await probe.answered(first);
    probe.call((link) => link.kill('it took too long'));
    probe.call((link) => link.kill());
    const { reason } = await probe.until('gone');
    expect(reason).toContain('it took too long');
    await expect(probe.answer(endless)).rejects.toThrow(/is gone/);
  });

  test('after gone, nothing that is asked has any effect', async () => {
    const probe = open();
    await probe.end();
    probe.call((link) => link.send({ kind: 'load', spec: models.arithmetic(1) }));
    probe.call((link) => link.send({ kind: 'cancel', batch: 1 }));
    probe.call((link) => link.stop());
    probe.call((link) => link.kill());
    probe.dispatch(1, rows(1), [0]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(probe.received.map(({ kind }) => kind).filter((kind) => kind !== 'credit')).toEqual(['gone']);
  });

  test('the end of one worker does not affect others', async () => {
    const doomed = open();
    const other = open();
    await Promise.all([doomed.load(models.arithmetic(1)), other.load(models.arithmetic(1))]);
    await doomed.end();
    await other.answered(other.dispatch(1, rows(1), [0]));
  });
}
