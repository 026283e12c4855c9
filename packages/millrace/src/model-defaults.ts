import type { GpuSupport } from '@millrace/protocol';
import type { ModelDefaults } from '@millrace/router/internal';
import { findGpuSupport } from '@millrace/worker/gpu-support';
import type { Config } from './config/fields.ts';
import { workerEnvironment } from './worker-environment.ts';

/** The settings of a model that does not set them itself. */
export function modelDefaultsFrom(config: Pick<Config, 'queue' | 'worker'>): ModelDefaults {
  return {
    lane: config.worker.lane,
    isInlineRefused: config.worker.user !== '',
    runMsMax: Math.ceil(config.worker.runSecondsMax * 1000),
    queueRequestsMax: config.queue.modelRequestsMax,
    queueBytesMax: config.queue.modelBytesMax,
    waitMsMax: config.queue.waitMsMax === 0 ? Number.POSITIVE_INFINITY : config.queue.waitMsMax,
  };
}

/** The GPUs that models may run on. */
export function gpuSupportFrom({ worker }: { readonly worker: Pick<Config['worker'], 'gpusMax'> }): GpuSupport {
  const devicesMax = worker.gpusMax === 'auto' ? Number.POSITIVE_INFINITY : worker.gpusMax;
  return findGpuSupport(devicesMax, { visibleDevices: workerEnvironment().CUDA_VISIBLE_DEVICES });
}
