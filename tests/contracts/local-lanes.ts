/** Local lanes for the tests of what they alone have, ended and cleared away afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalLane, type LocalLaneOptions } from '@millrace/router/internal';
import { programs } from 'millrace/internal';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { LinkProbe } from './link-probe.ts';
import { ModelFolder } from './model-folder.ts';

/** Of the shared memory, unless a test asks for another size. */
export const halfBytes = 2 ** 20;

export interface LocalLanes {
  readonly models: ModelFolder;
  /** For files of the test's own. */
  readonly folder: string;
  open(options?: Partial<LocalLaneOptions>): LinkProbe;
}

export function useLocalLanes(): LocalLanes {
  const probes: LinkProbe[] = [];
  const models = new ModelFolder();
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-local-'));
  });
  afterAll(() => {
    models.remove();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const probe of probes.splice(0)) {
      await probe.end();
      expect(probe.violations).toEqual([]);
    }
  });
  return {
    models,
    get folder() {
      return folder;
    },
    open(options = {}) {
      const lane = createLocalLane({ workerPath: programs.worker, sharedMemoryBytesMax: 2 * halfBytes, ...options });
      const probe = new LinkProbe(lane);
      probes.push(probe);
      return probe;
    },
  };
}
