/** Instances run where their groups say, and answer as the CPU does. */
import assert from 'node:assert/strict';
import type { EmbeddedEngine } from 'millrace';
import { eventually } from '../support/eventually.ts';
import type { Checks } from './checks.ts';
import { differenceMax, imagesOf, logitsOf, relativeDifference, withModels } from './gpu-model.ts';
import { hasGpuOpen } from './gpu-processes.ts';

/** Sizes that runs have, and sizes that are filled up. */
const batches = [1, 3, 8, 8, 1, 5, 17, 32] as const;
/** With one GPU; more where there are more. */
const instancesMin = 8;

export async function checkPlacement(checks: Checks, file: string): Promise<void> {
  const configs = {
    on_cpu: 'max_batch_size: 32 instance_group { kind: KIND_CPU count: 1 }',
    on_gpu: 'max_batch_size: 32 instance_group { kind: KIND_GPU count: 1 }',
    two_on_gpu: 'max_batch_size: 32 instance_group { name: "pair" kind: KIND_GPU count: 2 gpus: [ 0 ] }',
    automatic: 'max_batch_size: 32 instance_group { kind: KIND_AUTO count: 1 gpus: [ 0 ] }',
    unsaid: 'max_batch_size: 32',
    mixed:
      'max_batch_size: 32 instance_group { name: "quick" kind: KIND_GPU count: 1 gpus: [ 0 ] } instance_group { name: "spare" kind: KIND_CPU count: 1 }',
  };
  await withModels(file, configs, async (engine) => {
    await checks.check('instances are on the devices that were asked for', async () => {
      // A model is ready with its first instance.
      await eventually('every instance is there', () => devices(engine).length >= instancesMin);
      const of = (model: string): readonly string[] =>
        devices(engine)
          .filter((one) => one.model === model)
          .map(({ device }) => device)
          .sort();
      assert.deepEqual(of('on_cpu'), ['cpu']);
      assert.deepEqual(of('two_on_gpu'), ['gpu:0', 'gpu:0']);
      assert.deepEqual(of('automatic'), ['gpu:0']);
      assert.deepEqual(of('mixed'), ['cpu', 'gpu:0']);
      // Without a list, or without a group, there is one on each GPU.
      assert.deepEqual(of('unsaid'), of('on_gpu'));
      assert.ok(of('on_gpu').every((device) => device.startsWith('gpu:')));
      return `KIND_GPU without a list is ${of('on_gpu').join(' ')}`;
    });
    await checks.check('exactly the workers said to be on a GPU have one open', async () => {
      const instances = engine.management.instances();
      for (const { model, device, pid } of instances) {
        assert.ok(pid !== undefined, `${model} has no worker`);
        assert.equal(hasGpuOpen(pid), device.startsWith('gpu:'), `${model} on ${device}, process ${pid}`);
      }
      return `${instances.length} workers`;
    });
    await checks.check('answers of the GPU are those of the CPU, for batches of several sizes', async () => {
      let worst = 0;
      for (const [index, rows] of batches.entries()) {
        const images = imagesOf(index + 1, rows);
        const expected = await logitsOf(engine, 'on_cpu', images);
        for (const model of ['on_gpu', 'two_on_gpu', 'automatic', 'unsaid', 'mixed'])
          worst = Math.max(worst, relativeDifference(await logitsOf(engine, model, images), expected));
      }
      assert.ok(worst <= differenceMax, `they differ by ${worst}, and may by ${differenceMax}`);
      return `largest relative difference ${worst.toExponential(1)}`;
    });
    await checks.check('requests at once are shared by the instances of one GPU', async () => {
      const images = Array.from({ length: 8 }, (_, index) => imagesOf(index + 1, 1));
      const expected = await Promise.all(images.map((image) => logitsOf(engine, 'on_cpu', image)));
      await Promise.all(
        Array.from({ length: 256 }, async (_, index) => {
          const answer = await logitsOf(engine, 'two_on_gpu', images[index % images.length] as Float32Array);
          assert.ok(
            relativeDifference(answer, expected[index % images.length] ?? []) <= differenceMax,
            `request ${index}`,
          );
        }),
      );
      const used = engine.management.instances().filter(({ model }) => model === 'two_on_gpu');
      // Only an instance that has run something has a time per row.
      assert.ok(
        used.every(({ rowMs }) => rowMs !== undefined),
        'one of the two never ran anything',
      );
      return '256 requests, each with its own answer';
    });
  });
  await withModels(
    file,
    { unsaid: configs.unsaid },
    (engine) =>
      checks.check('with worker.gpusMax 0 a model that does not say runs on the CPU', async () => {
        assert.deepEqual(devices(engine), [{ model: 'unsaid', device: 'cpu' }]);
        return 'cpu';
      }),
    { worker: { gpusMax: 0 } },
  );
  await withModels(
    file,
    { on_gpu: configs.on_gpu },
    (engine) =>
      checks.check("a model in the server's own process runs on the GPU too", async () => {
        const logits = await logitsOf(engine, 'on_gpu', imagesOf(1, 2));
        assert.equal(logits.length, 2000);
        assert.ok(hasGpuOpen(process.pid));
        return `worker.lane inline, ${logits.length} values`;
      }),
    { worker: { lane: 'inline' } },
  );
}

function devices(engine: EmbeddedEngine): readonly { readonly model: string; readonly device: string }[] {
  return engine.management.instances().map(({ model, device }) => ({ model, device }));
}
