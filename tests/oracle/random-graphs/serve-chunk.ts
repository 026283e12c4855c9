/** Serves the graphs of a chunk and says what came of each. */
import { analyseRowsOfFile, type RowVerdict } from '@millrace/onnx';
import { type Case, modelPath, readChunk } from './case.ts';
import type { CaseResult, Failure, OracleLane } from './result.ts';
import { serveInProcess } from './serve-in-process.ts';
import { serveOverWire } from './serve-over-wire.ts';

export interface ChunkOrder {
  readonly folder: string;
  /** Names of the graphs to serve; all unless given. */
  readonly only?: readonly string[];
  /** The lane of all graphs; by their seeds unless given. */
  readonly lane?: OracleLane;
  /** Lets requests share runs by configuration, whatever the graph is: to see that wrong answers are found. */
  readonly isSharingForced?: boolean;
  /** Serves nothing: only the verdict of each graph is compared with what its requests in one run give. */
  readonly isVerdictOnly?: boolean;
}

/** One graph in 50 over the wire, and one in 8 of the others in a worker process. */
export function laneOfSeed(seed: number): OracleLane {
  if (seed % 50 === 7) return 'wire';
  return seed % 8 === 3 ? 'local' : 'inline';
}

export async function serveChunk(order: ChunkOrder): Promise<readonly CaseResult[]> {
  const { folder, only, lane, isSharingForced = false, isVerdictOnly = false } = order;
  const cases = readChunk(folder).filter(({ name }) => only === undefined || only.includes(name));
  const laneOf = ({ seed }: Case): OracleLane => {
    const natural = lane ?? laneOfSeed(seed);
    // What is configured is configured in process.
    return isSharingForced && natural === 'wire' ? 'inline' : natural;
  };
  const toServe = isVerdictOnly ? [] : cases;
  const served = new Map([
    ...(await serveInProcess(
      folder,
      toServe.filter((graph) => laneOf(graph) !== 'wire'),
      laneOf,
      isSharingForced,
    )),
    ...(await serveOverWire(
      folder,
      toServe.filter((graph) => laneOf(graph) === 'wire'),
    )),
  ]);
  return Promise.all(
    cases.map(async (graph) => {
      const verdict = await analyseRowsOfFile(modelPath(folder, graph));
      const { judge, sharedRuns } = served.get(graph.name) ?? {};
      return {
        seed: graph.seed,
        name: graph.name,
        lane: laneOf(graph),
        independent: graph.independent,
        stacked: graph.stacked,
        operators: graph.operators,
        verdict: verdict.kind,
        ...reasonOf(verdict, graph),
        answers: judge?.answers ?? 0,
        sharedRuns: sharedRuns ?? 0,
        failures: [...(judge?.failures ?? []), ...unsound(verdict, graph)],
      };
    }),
  );
}

function unsound({ kind }: RowVerdict, { stacked }: Case): readonly Failure[] {
  if (kind !== 'independent' || (stacked !== 'differs' && stacked !== 'fails')) return [];
  return [{ kind: 'unsound', message: `proven independent; all requests in one run of ONNX Runtime: ${stacked}` }];
}

function reasonOf(verdict: RowVerdict, { nodes }: Case): Pick<CaseResult, 'reason' | 'blamed'> {
  if (verdict.kind === 'independent') return { reason: '', blamed: '' };
  // A node in a subgraph has a name that is not in the list: what it says of itself is its operator.
  return { reason: verdict.reason, blamed: nodes[verdict.node] ?? verdict.node.replace(/[_ (].*$/, '') };
}
