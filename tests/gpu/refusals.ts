/** What cannot run on a GPU is refused with a reason an operator can act on, and everything else is served. */
import assert from 'node:assert/strict';
import type { EmbeddedEngine } from 'millrace';
import type { Checks } from './checks.ts';
import { imagesOf, logitsOf, withModels } from './gpu-model.ts';
import { hasGpuOpen } from './gpu-processes.ts';

const onGpu = 'max_batch_size: 8 instance_group { kind: KIND_GPU count: 1 gpus: [ 0 ] }';
const onCpu = 'max_batch_size: 8 instance_group { kind: KIND_CPU count: 1 }';

export async function checkRefusals(checks: Checks, file: string): Promise<void> {
  const absent = 'max_batch_size: 8 instance_group { kind: KIND_GPU count: 1 gpus: [ 0, 63 ] }';
  await withModels(file, { absent, present: onGpu }, (engine) =>
    checks.check('a GPU that does not exist is named, and the others serve', async () => {
      const reason = refusalOf(engine, 'absent');
      assert.match(reason, /GPU 63/);
      assert.match(reason, /instance_group/);
      await logitsOf(engine, 'present', imagesOf(1, 1));
      return reason;
    }),
  );
  await withModels(
    file,
    { wanted: onGpu, other: onCpu },
    (engine) =>
      checks.check('a model that insists on a GPU where none may be used is refused', async () => {
        const reason = refusalOf(engine, 'wanted');
        assert.match(reason, /worker\.gpusMax/);
        await logitsOf(engine, 'other', imagesOf(1, 1));
        return reason;
      }),
    { worker: { gpusMax: 0 } },
  );
  await refusedWith(checks, file, {
    claim: 'a model that insists on a GPU where all are hidden is refused',
    environment: { CUDA_VISIBLE_DEVICES: '-1' },
    config: onGpu,
    reason: /CUDA_VISIBLE_DEVICES/,
  });
  await refusedWith(checks, file, {
    claim: 'a GPU that CUDA does not find fails the load, with its number and the reason',
    environment: { CUDA_VISIBLE_DEVICES: 'GPU-00000000-0000-0000-0000-000000000000' },
    config: onGpu,
    reason: /on GPU 0: CUDA failure \d+: .*CUDA_VISIBLE_DEVICES/,
  });
  const accelerated = `${onGpu} optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }`;
  await withModels(file, { accelerated }, (engine) =>
    checks.check('TensorRT runs, or the library that it lacks is named', async () => {
      const [status] = engine.statuses();
      if (status?.state === 'ready') {
        await logitsOf(engine, 'accelerated', imagesOf(1, 1));
        assert.ok(engine.management.instances().every(({ pid }) => pid !== undefined && hasGpuOpen(pid)));
        return 'it runs on the GPU';
      }
      const reason = refusalOf(engine, 'accelerated');
      assert.match(reason, /libonnxruntime_providers_tensorrt\.so needs lib\w+\.so/);
      return reason;
    }),
  );
}

interface Refusal {
  readonly claim: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly config: string;
  readonly reason: RegExp;
}

function refusedWith(checks: Checks, file: string, { claim, environment, config, reason }: Refusal): Promise<void> {
  return withEnvironment(environment, () =>
    withModels(file, { refused: config, other: onCpu }, (engine) =>
      checks.check(claim, async () => {
        const told = refusalOf(engine, 'refused');
        assert.match(told, reason);
        await logitsOf(engine, 'other', imagesOf(1, 1));
        return told;
      }),
    ),
  );
}

function refusalOf(engine: EmbeddedEngine, model: string): string {
  const status = engine.statuses().find(({ name }) => name === model);
  assert.equal(status?.state, 'failed', `${model} is ${status?.state}, and should have failed`);
  return status.reason;
}

/** Workers have the environment of whoever starts them. */
async function withEnvironment(changes: Readonly<Record<string, string>>, run: () => Promise<void>): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, changes);
  try {
    await run();
  } finally {
    for (const name of Object.keys(changes)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
}
