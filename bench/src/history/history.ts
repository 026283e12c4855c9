/** `bench/history.jsonl`: one line for each comparison of a commit with an earlier one. */
import type { ComparisonVerdict } from '../comparison/verdict.ts';

/** Of one load. `before` was measured beside it in the same run: across runs only ratios can be compared. */
export interface LoadFigures {
  readonly serverMicros: number;
  readonly serverMicrosBefore: number;
  readonly requestsPerSecond: number;
  /** Where one request is in flight at a time. */
  readonly p50Micros?: number;
  readonly p50MicrosBefore?: number;
}

export interface HistoryEntry {
  readonly commit: string;
  readonly before: string;
  /** Of the measurement, as ISO 8601. */
  readonly date: string;
  readonly machine: string;
  readonly loads: Readonly<Record<string, LoadFigures>>;
}

export function figuresFrom({ microsAfter, microsBefore, rateAfter, p50 }: ComparisonVerdict): LoadFigures {
  const figures = {
    serverMicros: rounded(microsAfter),
    serverMicrosBefore: rounded(microsBefore),
    requestsPerSecond: Math.round(rateAfter),
  };
  if (p50 === undefined) return figures;
  return { ...figures, p50Micros: rounded(p50.afterMs * 1000), p50MicrosBefore: rounded(p50.beforeMs * 1000) };
}

function rounded(micros: number): number {
  return Math.round(micros * 10) / 10;
}

/** Throws with the number of a line that is not an entry. */
export function historyFrom(text: string): readonly HistoryEntry[] {
  return text.split('\n').flatMap((line, index) => {
    if (line === '') return [];
    const entry = parsed(line) as Partial<HistoryEntry> | undefined;
    if (typeof entry?.commit !== 'string' || typeof entry.loads !== 'object')
      throw new Error(`line ${index + 1} of the history is not an entry`);
    return [entry as HistoryEntry];
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
