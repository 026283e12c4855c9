/** What a model on a GPU takes of the memory of both, and that an unloaded one gives it back. */
import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import type { Checks } from './checks.ts';
import { imagesOf, logitsOf, withModels } from './gpu-model.ts';
import { gpuMebibytesUsed } from './gpu-processes.ts';

const onGpu = 'max_batch_size: 8 instance_group { kind: KIND_GPU count: 1 gpus: [ 0 ] }';
/** The driver keeps a little for itself, and takes its time to count. */
const mebibytesLeft = 64;

export async function checkMemory(checks: Checks, file: string): Promise<void> {
  const before = gpuMebibytesUsed();
  let residentBytes = 0;
  let gpuMebibytes = 0;
  await withModels(file, { m: onGpu }, (engine) =>
    checks.check('a model on the GPU holds memory of the host and of the GPU', async () => {
      await logitsOf(engine, 'm', imagesOf(1, 8));
      residentBytes = engine.library.contexts()[0]?.residentBytes ?? 0;
      gpuMebibytes = gpuMebibytesUsed() - before;
      assert.ok(residentBytes > 0 && gpuMebibytes > 0, `${residentBytes} bytes and ${gpuMebibytes} MiB`);
      return `${Math.round(residentBytes / 2 ** 20)} MiB resident, ${gpuMebibytes} MiB of the GPU`;
    }),
  );
  await checks.check('the memory of the GPU is free again after the end', () => isBack(before));
  const budget = Math.round(residentBytes * 1.5);
  await withModels(
    file,
    { first: onGpu, second: onGpu },
    (engine) =>
      checks.check('a memory budget for one of two models holds one, and evicts it for the other', async () => {
        for (const model of ['first', 'second', 'first']) {
          await logitsOf(engine, model, imagesOf(1, 8));
          const other = model === 'first' ? 'second' : 'first';
          const stateOf = (name: string) => engine.statuses().find((status) => status.name === name)?.state;
          await eventually(
            `${model} is in memory alone`,
            () => stateOf(other) === 'evicted' && stateOf(model) === 'ready',
          );
        }
        return isBack(before + gpuMebibytes);
      }),
    { control: { memoryBudget: budget } },
  );

  async function isBack(mebibytes: number): Promise<string> {
    await eventually(
      `no more than ${mebibytes} MiB of the GPU are in use`,
      () => gpuMebibytesUsed() <= mebibytes + mebibytesLeft,
    );
    return `${gpuMebibytesUsed()} MiB in use, ${before} before all of this`;
  }
}
