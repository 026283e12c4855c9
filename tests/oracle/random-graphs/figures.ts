/** Adds up what came of the graphs, and tells it as a table for people and as JSON. */
import { type Coverage, coverageOf } from './coverage.ts';
import type { CaseResult, FailureKind } from './result.ts';
import type { RunNotes } from './run-graphs.ts';

interface OperatorFigures {
  graphs: number;
  independent: number;
  proven: number;
  /** Graphs independent by construction in which this operator's node kept the proof from succeeding. */
  blamed: number;
}

export class Figures {
  readonly results: CaseResult[] = [];
  notes: RunNotes = { skipped: [], rejected: {} };

  add(results: readonly CaseResult[]): void {
    this.results.push(...results);
  }

  get failed(): readonly CaseResult[] {
    return this.results.filter(({ failures }) => failures.length > 0);
  }

  count(kind: FailureKind): number {
    return this.results.filter(({ failures }) => failures.some((failure) => failure.kind === kind)).length;
  }

  summary() {
    const independent = this.results.filter((result) => result.independent);
    const proven = independent.filter(({ verdict }) => verdict === 'independent');
    const batched = proven.filter(({ sharedRuns }) => sharedRuns > 0);
    return {
      graphs: this.results.length,
      wrong: this.count('wrong') + this.count('answered'),
      unwritten: this.count('unwritten'),
      unsound: this.count('unsound'),
      fiveHundreds: this.count('five-hundred'),
      refusedRequests: this.count('refused'),
      refusedLoads: this.count('not-loaded'),
      crashes: this.count('crash'),
      answers: sum(this.results.map(({ answers }) => answers)),
      sharedRuns: sum(this.results.map(({ sharedRuns }) => sharedRuns)),
      graphsThatSharedRuns: this.results.filter(({ sharedRuns }) => sharedRuns > 0).length,
      independentByConstruction: independent.length,
      proven: proven.length,
      provenShare: share(proven.length, independent.length),
      provenAndBatched: batched.length,
      provenAndBatchedShare: share(batched.length, independent.length),
      provenAmongOthers: this.results.filter((one) => !one.independent && one.verdict === 'independent').length,
      lanes: Object.fromEntries(
        ['inline', 'local', 'wire'].map((lane) => [lane, this.results.filter((one) => one.lane === lane).length]),
      ),
      skippedSeeds: this.notes.skipped,
      rejectedGraphs: this.notes.rejected,
      knownOperators: this.coverage(),
      refusedLoadReasons: this.reasons('not-loaded'),
      unprovenReasons: this.unprovenReasons(),
    };
  }

  operators(): ReadonlyMap<string, Readonly<OperatorFigures>> {
    const table = new Map<string, OperatorFigures>();
    const rowOf = (operator: string): OperatorFigures => {
      const row = table.get(operator) ?? { graphs: 0, independent: 0, proven: 0, blamed: 0 };
      table.set(operator, row);
      return row;
    };
    for (const { operators, independent, verdict, blamed } of this.results) {
      for (const operator of operators) {
        const row = rowOf(operator);
        row.graphs++;
        if (independent) row.independent++;
        if (independent && verdict === 'independent') row.proven++;
      }
      if (independent && blamed !== '') rowOf(blamed).blamed++;
    }
    return new Map([...table].sort(([a], [b]) => a.localeCompare(b)));
  }

  coverage(): Coverage {
    const table = this.operators();
    return coverageOf((operator) => table.get(operator)?.graphs ?? 0, this.results.length);
  }

  /** How often each reason occurs, numbers left out, with one seed as an example. */
  reasons(kind: FailureKind): readonly (readonly [string, number, number])[] {
    const found = this.results.flatMap(({ failures, seed }) =>
      failures.filter((failure) => failure.kind === kind).map(({ message }) => [message, seed] as const),
    );
    return grouped(found);
  }

  unprovenReasons(): readonly (readonly [string, number, number])[] {
    const unproven = this.results.filter(({ independent, verdict }) => independent && verdict !== 'independent');
    return grouped(unproven.map(({ blamed, reason, seed }) => [`${blamed}: ${reason}`, seed] as const));
  }

  text(): string {
    const { refusedLoadReasons, unprovenReasons, ...figures } = this.summary();
    const lines = ['operator                                    graphs  share  independent  proven  share  blamed'];
    for (const [operator, row] of this.operators()) {
      lines.push(
        `${operator.padEnd(42)} ${String(row.graphs).padStart(7)} ${percent(row.graphs, this.results.length)} ${String(row.independent).padStart(12)} ${String(row.proven).padStart(7)} ${percent(row.proven, row.independent)} ${String(row.blamed).padStart(7)}`,
      );
    }
    const list = (title: string, rows: readonly (readonly [string, number, number])[]): string[] =>
      rows.length === 0
        ? []
        : [
            '',
            title,
            ...rows.map(([message, times, seed]) => `${String(times).padStart(6)}  ${message}  (seed ${seed})`),
          ];
    lines.push(
      ...list('graphs independent by construction that were not proven so, by operator and reason:', unprovenReasons),
    );
    for (const kind of [
      'not-loaded',
      'unsound',
      'wrong',
      'unwritten',
      'answered',
      'five-hundred',
      'refused',
      'crash',
    ] as const) {
      lines.push(...list(`${kind}:`, kind === 'not-loaded' ? refusedLoadReasons : this.reasons(kind)));
    }
    lines.push('');
    for (const [name, value] of Object.entries(figures)) lines.push(`${name}: ${JSON.stringify(value)}`);
    return lines.join('\n');
  }
}

function grouped(found: readonly (readonly [string, number])[]): readonly (readonly [string, number, number])[] {
  const groups = new Map<string, [number, number]>();
  for (const [message, seed] of found) {
    const key = message
      .split('\n')[0]
      ?.slice(0, 300)
      .replace(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, '#') as string;
    const group = groups.get(key) ?? [0, seed];
    group[0]++;
    groups.set(key, group);
  }
  return [...groups].map(([message, [times, seed]]) => [message, times, seed] as const).sort((a, b) => b[1] - a[1]);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '     -' : `${(100 * share(part, whole)).toFixed(1).padStart(5)}%`;
}
