/** What went by each edge. */
import { dialects } from './edges.ts';
import type { StreamRun } from './stream-run.ts';

export interface EdgeFigures {
  readonly edge: string;
  readonly streams: number;
  readonly outputs: number;
  readonly resumes: number;
  /** Connections that clients gave up because nothing came. */
  readonly silences: number;
  /** Streams with a problem. */
  readonly wrong: number;
  readonly missingModels: readonly string[];
}

/** `models`: those that every edge is to carry. */
export function edgeFigures(
  { clients }: Pick<StreamRun, 'clients'>,
  models: readonly string[],
): readonly EdgeFigures[] {
  return dialects.map((dialect) => {
    const own = clients.filter(({ options }) => options.dialect === dialect);
    const carried = new Set(own.map(({ options }) => options.plan.model));
    return {
      edge: dialect.name,
      streams: own.length,
      outputs: own.reduce((sum, { lastOutput }) => sum + lastOutput, 0),
      resumes: own.reduce((sum, { resumes }) => sum + resumes, 0),
      silences: own.reduce((sum, { silences }) => sum + silences, 0),
      wrong: own.filter(({ problems }) => problems.length > 0).length,
      missingModels: models.filter((model) => !carried.has(model)),
    };
  });
}

export function writtenEdges(edges: readonly EdgeFigures[]): string {
  return edges
    .map(({ edge, streams, outputs, resumes, silences, wrong, missingModels }) => {
      const missing = missingModels.length === 0 ? '' : `, no stream of ${missingModels.join(', ')}`;
      return `  ${edge}: ${streams} streams, ${outputs} outputs, ${resumes} resumes, ${silences} silences, ${wrong} wrong${missing}`;
    })
    .join('\n');
}
