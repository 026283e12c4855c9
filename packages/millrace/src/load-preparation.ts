/** What a server that starts begins before it has read its models: the first workers, and the process of the row analysis. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadPreparation, PreparedLane } from '@millrace/router/internal';

/** The name that exporters and Triton give the file; a model with another is not prepared for. */
const modelFilename = 'model.onnx';

export interface LoadPreparationParts {
  readonly lane: Pick<PreparedLane, 'prepare' | 'release'>;
  /** At most so many workers, however many models there are. */
  readonly workersMax: number;
  /** Called when graphs are about to be analysed. */
  readonly prepareAnalysis: () => void;
}

export function loadPreparation({ lane, workersMax, prepareAnalysis }: LoadPreparationParts): LoadPreparation {
  return {
    prepare: (locations) => {
      let workers = 0;
      for (const { path, isSingleFile, versions } of locations) {
        if (workers === workersMax) break;
        if (isSingleFile || versions.some((version) => existsSync(join(path, version, modelFilename)))) workers += 1;
      }
      if (workers === 0) return;
      prepareAnalysis();
      lane.prepare(workers);
    },
    release: () => lane.release(),
  };
}
