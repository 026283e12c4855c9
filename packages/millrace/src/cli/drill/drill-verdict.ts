/** Whether a stream that was broken gave what the undisturbed one gave. */
import type { DrillKind } from './drill-spec.ts';
import type { DrillResult } from './drill-stream.ts';

export interface DrillVerdict {
  readonly kind: DrillKind;
  readonly isPassed: boolean;
  readonly outputs: number;
  readonly reconnects: number;
  readonly gapMs: number;
  readonly text: string;
}

/** Kinds that the client of a stream notices by its connection; the others are a pause to it. */
const breaksConnection: Readonly<Record<DrillKind, boolean>> = {
  link: true,
  router: true,
  worker: false,
  'store-pause': false,
};

export function drillVerdict(kind: DrillKind, undisturbed: DrillResult, result: DrillResult): DrillVerdict {
  const problem = takeProblem(kind, undisturbed, result);
  const gapMs = Math.round(result.gap.ms);
  const reconnects = result.losses.length;
  const seen = `the client saw ${reconnects === 0 ? 'no loss' : `status=${result.losses.join(', ')}`}; its longest gap was ${gapMs} ms, before seq=${result.gap.beforeOutput}`;
  const count = result.outputs.length;
  const text =
    problem === undefined
      ? `equal: all ${count} outputs are those of the undisturbed run; ${seen}`
      : `FAILED: ${problem}; ${seen}`;
  return { kind, isPassed: problem === undefined, outputs: count, reconnects, gapMs, text };
}

function takeProblem(
  kind: DrillKind,
  undisturbed: DrillResult,
  { outputs, ended, losses }: DrillResult,
): string | undefined {
  if (ended.outcome !== 'done') return `the stream ended as ${ended.outcome}: ${ended.code}: ${ended.message}`;
  const expected = undisturbed.outputs;
  const differs = expected.findIndex((output, index) => output !== outputs[index]);
  if (differs !== -1) {
    return `output ${differs + 1} is ${outputs[differs] ?? 'missing'}, in the undisturbed run ${expected[differs]}`;
  }
  if (outputs.length > expected.length) return `${outputs.length} outputs came, and ${expected.length} undisturbed`;
  if (breaksConnection[kind] && losses.length === 0) return 'the connection was not lost: nothing was rehearsed';
  if (!breaksConnection[kind] && losses.length > 0) return 'the connection was lost, which it should not be';
  return undefined;
}
