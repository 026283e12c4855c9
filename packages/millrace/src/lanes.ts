/** The lanes of a server, each with its worker program. */
import type { Lane } from '@millrace/protocol';
import {
  createAttachedLane,
  createLocalLane,
  type LaneName,
  type LocalLaneOptions,
  PreparedLane,
  type PreparedLaneParts,
} from '@millrace/router/internal';
import { contentOf, FileDigests } from '@millrace/worker/content';
import { createInlineLane, inlineEngines } from '@millrace/worker/inline';
import { programs } from './programs.ts';
import { generatorEnvironment, workerEnvironment } from './worker-environment.ts';

export interface LanesOptions extends Omit<LocalLaneOptions, 'workerPath' | 'environment'> {
  /** The program of the local lane; Millrace's own unless given. */
  readonly workerPath: string | undefined;
  /** How workers of generators are started; as all others unless given. */
  readonly spawnGenerator?: LocalLaneOptions['spawn'];
  /** Sockets of workers that run on their own; empty: workers are started here. */
  readonly socketPaths: readonly string[];
}

export function createLanes({
  workerPath,
  socketPaths,
  spawnGenerator,
  ...options
}: LanesOptions): Readonly<Record<LaneName, Lane>> {
  const inline = createInlineLane({ engines: inlineEngines });
  if (socketPaths.length > 0) {
    const digests = new FileDigests();
    const attached = createAttachedLane({ socketPaths, describeContent: (spec) => contentOf(spec, digests) });
    return { inline, local: attached, pipeline: attached, generator: attached };
  }
  return {
    inline,
    local: createLocalLane({
      ...options,
      workerPath: workerPath ?? programs.worker,
      environment: workerEnvironment(),
    }),
    pipeline: createLocalLane({ ...options, workerPath: programs.pipelineWorker }),
    generator: createLocalLane({
      ...options,
      ...(spawnGenerator && { spawn: spawnGenerator }),
      workerPath: programs.generatorWorker,
      environment: generatorEnvironment(),
    }),
  };
}

/** The lanes whose workers are started here, each with its standbys: their programs and environments differ. */
export interface PreparedLanes {
  readonly lanes: Readonly<Record<Exclude<LaneName, 'inline'>, PreparedLane>>;
  /** Processes that wait for a model, of all lanes. */
  readonly standbys: number;
  /** Ends them, and starts no further ones. */
  close(): void;
}

export function preparedLanes(
  { local, pipeline, generator }: Readonly<Record<LaneName, Lane>>,
  parts: Omit<PreparedLaneParts, 'lane'>,
): PreparedLanes {
  const prepared = (lane: Lane): PreparedLane => new PreparedLane({ ...parts, lane });
  const lanes = { local: prepared(local), pipeline: prepared(pipeline), generator: prepared(generator) };
  const each = Object.values(lanes);
  return {
    lanes,
    get standbys() {
      return each.reduce((sum, { standbys }) => sum + standbys, 0);
    },
    close: () => {
      for (const lane of each) lane.close();
    },
  };
}
