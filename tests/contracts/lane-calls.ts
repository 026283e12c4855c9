/** Part of the lane contract: batches that run at once and call other models. */
import { fileURLToPath } from 'node:url';
import type { CallMessage, LoadSpec, Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { LaneTools } from './lane.ts';
import type { LinkProbe } from './link-probe.ts';
import { floats, texts } from './tensor-bytes.ts';

export const callingPipelinePath = fileURLToPath(new URL('calling-pipeline.ts', import.meta.url));

const spec: LoadSpec = {
  model: 1,
  name: 'calling',
  version: '1',
  engine: 'pipeline',
  path: callingPipelinePath,
  inputs: [
    { name: 'say', datatype: 'BYTES', shape: [1] },
    { name: 'x', datatype: 'FP32', shape: [-1] },
  ],
  outputs: [
    { name: 'y', datatype: 'FP32', shape: [-1] },
    { name: 'said', datatype: 'BYTES', shape: [1] },
  ],
  isBatched: false,
  threads: 1,
  isSpinning: false,
  concurrency: 8,
};

const large = 300_000;

export function testCalls({ openCalling, shareCalling }: LaneTools): void {
  const begin = async (): Promise<LinkProbe> => {
    const probe = openCalling();
    await probe.load(spec);
    return probe;
  };
  const loaded = new WeakSet<LinkProbe>();
  /** On a worker that has the model already, unless it is the first time. */
  const beginShared = async (): Promise<LinkProbe> => {
    const probe = shareCalling();
    if (!loaded.has(probe)) await probe.load(spec);
    loaded.add(probe);
    return probe;
  };
  const say = (probe: LinkProbe, what: string, x: Uint8Array = floats(1, 2), onRelease = () => {}): number =>
    probe.dispatch(
      1,
      [
        { index: 0, shape: [1], data: texts(what) },
        { index: 1, shape: [x.length / 4], data: x },
      ],
      [0, 1],
      onRelease,
    );
  const callOf = (probe: LinkProbe, batch: number, model?: string): Promise<CallMessage> =>
    probe.until('call', (call) => call.batch === batch && (model === undefined || call.model === model));

  test('grants as much credit as the model runs at once, before it is ready', async () => {
    const probe = await begin();
    const kinds = probe.received.map((message) => (message.kind === 'credit' ? message.batchesMax : message.kind));
    expect(kinds).toEqual([2, 8, 'ready']);
  });

  test('a batch calls a model by name and is answered when its call is', async () => {
    const probe = await beginShared();
    const batch = say(probe, 'call');
    const call = await callOf(probe, batch);
    expect(call).toMatchObject({ model: 'double', version: '3', outputs: ['y'], timeoutMs: 1234 });
    expect(call.inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape }))).toEqual([
      { name: 'x', datatype: 'FP32', shape: [2] },
    ]);
    expect([...(call.inputs[0] as Tensor).data]).toEqual([...floats(1, 2)]);
    call.region.release();
    probe.answerCall(call, [{ name: 'y', datatype: 'FP32', shape: [2], data: floats(2, 4) }]);
    const answered = await probe.answered(batch);
    expect([...(answered.outputs[0]?.data ?? [])]).toEqual([...floats(2, 4)]);
    expect([...(answered.outputs[1]?.data ?? [])]).toEqual([...texts('done')]);
  });

  test('tensors of any size pass both ways, and the memory of each answer is released once, with its batch', async () => {
    const probe = await beginShared();
    const released: string[] = [];
    const x = new Uint8Array(4 * large).fill(7);
    const batch = say(probe, 'call', x, () => released.push('inputs'));
    const call = await callOf(probe, batch);
    expect(Buffer.compare((call.inputs[0] as Tensor).data, x)).toBe(0);
    call.region.release();
    const data = new Uint8Array(4 * large).fill(9);
    probe.answerCall(call, [{ name: 'y', datatype: 'FP32', shape: [large], data }], () => released.push('answer'));
    const { outputs, region } = await probe.answered(batch);
    expect(Buffer.compare(outputs[0]?.data ?? new Uint8Array(), data)).toBe(0);
    region.release();
    expect(new Set(released)).toEqual(new Set(['inputs', 'answer']));
    expect(released).toHaveLength(2);
  });

  test('batches are answered as they end, whatever the order of their dispatch', async () => {
    const probe = await beginShared();
    const waiting = say(probe, 'call');
    const call = await callOf(probe, waiting);
    const quick = say(probe, 'echo', floats(5));
    expect([...((await probe.answered(quick)).outputs[0]?.data ?? [])]).toEqual([...floats(5)]);
    call.region.release();
    probe.answerCall(call, [{ name: 'y', datatype: 'FP32', shape: [1], data: floats(6) }]);
    await probe.answered(waiting);
    const answers = probe.received.flatMap((message) => (message.kind === 'answered' ? [message.batch] : []));
    expect(answers).toEqual([quick, waiting]);
  });

  test('a batch has several calls open at once, answered in any order', async () => {
    const probe = await beginShared();
    const batch = say(probe, 'call two');
    const [one, two] = [await callOf(probe, batch, 'one'), await callOf(probe, batch, 'two')];
    for (const call of [two, one]) {
      call.region.release();
      const data = floats(call === one ? 1 : 2);
      probe.answerCall(call, [{ name: 'y', datatype: 'FP32', shape: [1], data }]);
    }
    expect([...((await probe.answered(batch)).outputs[0]?.data ?? [])]).toEqual([...floats(1, 2)]);
  });

  test('a failed call is answered with its code, and fails the batch with it when nobody catches it', async () => {
    const probe = await beginShared();
    for (const [what, told] of [
      ['catch', 'model-full: too many'],
      ['call', undefined],
    ] as const) {
      const batch = say(probe, what);
      const call = await callOf(probe, batch);
      call.region.release();
      probe.call((link) =>
        link.send({ kind: 'call-failed', call: call.call, code: 'model-full', message: 'too many' }),
      );
      if (told === undefined)
        expect(await probe.failed(batch)).toMatchObject({ code: 'model-full', message: 'too many' });
      else expect([...((await probe.answered(batch)).outputs[1]?.data ?? [])]).toEqual([...texts(told)]);
    }
  });

  test('an error of user code is reported without a stack, with its position or the code it asks for', async () => {
    const probe = await beginShared();
    const thrown = await probe.failed(say(probe, 'throw'));
    expect(thrown.code).toBe('inference-failed');
    expect(thrown.message).toMatch(/^out of luck( \(calling-pipeline\.ts:\d+\))?$/);
    expect(await probe.failed(say(probe, 'invalid'))).toMatchObject({
      code: 'invalid-request',
      message: 'there is nothing to do',
    });
  });

  test('a batch that is cancelled while it runs ends, and so do its calls', async () => {
    const probe = await beginShared();
    const [waiting, calling] = [say(probe, 'wait'), say(probe, 'call')];
    const call = await callOf(probe, calling);
    call.region.release();
    for (const batch of [waiting, calling]) probe.call((link) => link.send({ kind: 'cancel', batch }));
    expect((await probe.failed(waiting)).code).toBe('cancelled');
    expect((await probe.failed(calling)).code).toBe('cancelled');
  });

  test('a call that its batch cancels is reported, and one that it abandons may be answered late without harm', async () => {
    const probe = await beginShared();
    const batch = say(probe, 'give up');
    const call = await callOf(probe, batch);
    call.region.release();
    expect(await probe.until('call-cancelled')).toMatchObject({ call: call.call, batch });
    probe.call((link) =>
      link.send({ kind: 'call-failed', call: call.call, code: 'cancelled', message: 'as you wish' }),
    );
    await probe.answered(batch);
    const forgetful = say(probe, 'forget');
    const forgotten = await callOf(probe, forgetful);
    forgotten.region.release();
    await probe.answered(forgetful);
    let releases = 0;
    const data = new Uint8Array(4 * large);
    probe.answerCall(forgotten, [{ name: 'y', datatype: 'FP32', shape: [large], data }], () => {
      releases += 1;
    });
    expect(releases).toBe(1);
    await probe.answered(say(probe, 'echo'));
  });

  test('stop lets calls be answered and batches end; kill takes all of them, and what they held is released', async () => {
    const stopping = await begin();
    const batch = say(stopping, 'call');
    const call = await callOf(stopping, batch);
    call.region.release();
    stopping.call((link) => link.stop());
    stopping.answerCall(call, [{ name: 'y', datatype: 'FP32', shape: [1], data: floats(1) }]);
    await stopping.answered(batch);
    await stopping.until('gone');

    const killed = await begin();
    let releases = 0;
    const both = say(killed, 'call two', floats(1), () => {
      releases += 1;
    });
    const one = await callOf(killed, both, 'one');
    const data = new Uint8Array(4 * large);
    killed.answerCall(one, [{ name: 'y', datatype: 'FP32', shape: [large], data }], () => {
      releases += 1;
    });
    await killed.end();
    await eventually('everything is released', async () => releases === 2);
    for (const message of killed.received) if (message.kind === 'call') message.region.release();
  });
}
