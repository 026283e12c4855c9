import type { ByteSource } from './byte-source.ts';
import { type GraphLimits, graphLimits } from './model/graph-limits.ts';
import { withModelFile } from './model-file.ts';
import type { RowVerdict } from './row-verdict.ts';

/** Whether the rows of the model file at `path` are independent. Never rejects: an unreadable file is unknown. */
export async function analyseRowsOfFile(path: string): Promise<RowVerdict> {
  try {
    return await withModelFile(path, (source) => analyseRows(source));
  } catch (error) {
    return notAnalysed(error);
  }
}

export async function analyseRows(source: ByteSource, limits: GraphLimits = graphLimits): Promise<RowVerdict> {
  try {
    // Imported late: only one of the processes that read graphs analyses them, and the tables take a tenth of a worker's start.
    const [{ readModelProto }, { analyseModel }] = await Promise.all([
      import('./model/read-model-proto.ts'),
      import('./rows/analyse-model.ts'),
    ]);
    return analyseModel(await readModelProto(source, limits));
  } catch (error) {
    return notAnalysed(error);
  }
}

/** Instead of a node, in a verdict on a graph that could not be analysed. */
export const wholeGraph = 'the graph';

export function notAnalysed(error: unknown): RowVerdict {
  const reason = error instanceof Error ? error.message : String(error);
  return { kind: 'unknown', node: wholeGraph, reason: `it could not be analysed: ${reason}` };
}
