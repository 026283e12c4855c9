/** The lanes of a server, each with its worker program. */
import type { Lane } from '@millrace/protocol';
import { createLocalLane, type LaneName, type LocalLaneOptions } from '@millrace/router/internal';
import { createInlineLane, inlineEngines } from '@millrace/worker/inline';
import { programs } from './programs.ts';
import { workerEnvironment } from './worker-environment.ts';

export interface LanesOptions extends Omit<LocalLaneOptions, 'workerPath' | 'environment'> {
  /** The program of the local lane; Millrace's own unless given. */
  readonly workerPath: string | undefined;
}

export function createLanes({ workerPath, ...options }: LanesOptions): Readonly<Record<LaneName, Lane>> {
  return {
    inline: createInlineLane({ engines: inlineEngines }),
    local: createLocalLane({
      ...options,
      workerPath: workerPath ?? programs.worker,
      environment: workerEnvironment(),
    }),
    pipeline: createLocalLane({ ...options, workerPath: programs.pipelineWorker }),
  };
}
