/** Whether requests of different callers share the runs of a model version, and why: the one record that all reports show. */
import type { RowVerdict } from '@millrace/onnx';

export interface RunSharing {
  /** Requests of different callers may share a run. */
  readonly sharesRuns: boolean;
  /** The configuration has no `max_batch_size`: a request may have any number of rows, as with the engine itself. */
  readonly isGuessed: boolean;
  readonly verdict: RowVerdict;
  /** Why it shares runs, or why it does not. */
  readonly reason: string;
  /** What to change to get the opposite; empty: it cannot be changed. */
  readonly advice: string;
}

export const batchParameter = 'millrace.batch';

/** Shown in a model's configuration beside what was written; ignored where a client sends them back. */
export const reportedParameters = {
  'millrace.batch.shares': 'whether requests of different callers share runs: `true` or `false`',
  'millrace.batch.verdict': 'what the analysis of the graph found: `independent`, `dependent` or `unknown`',
  'millrace.batch.node': 'the node that decided, where the rows are not proven independent',
  'millrace.batch.reason': 'why requests share runs, or why not',
} as const;

type Entries = Readonly<Record<string, { readonly string_value?: string }>>;

/** Adds the reported parameters to those of a configuration. */
export function withReport(written: Entries | undefined, sharing: RunSharing): Entries {
  const { verdict } = sharing;
  const texts: Partial<Record<keyof typeof reportedParameters, string>> = {
    'millrace.batch.shares': String(sharing.sharesRuns),
    'millrace.batch.verdict': verdict.kind,
    ...(verdict.kind === 'independent' ? {} : { 'millrace.batch.node': verdict.node }),
    'millrace.batch.reason': sharing.reason,
  };
  const others = Object.entries(written ?? {}).filter(([key]) => !Object.hasOwn(reportedParameters, key));
  return Object.fromEntries([...others, ...Object.entries(texts).map(([key, text]) => [key, { string_value: text }])]);
}

/** The verdict in one sentence. */
export function verdictText(verdict: RowVerdict): string {
  if (verdict.kind === 'independent') return 'the rows of the graph are proven independent';
  const claim = verdict.kind === 'dependent' ? 'depend on each other' : 'are not proven independent';
  return `the rows of the graph ${claim}: ${verdict.node === '' ? '' : `node ${verdict.node}: `}${verdict.reason}`;
}
