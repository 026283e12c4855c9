/** What a bench scenario is: a measurement of ours and of a baseline, alternated in the same run, and a bound on their ratio. */
import type { Tool } from './tools.ts';

/** One repetition's figure for each contestant, by name; `unit` says what it counts. */
export interface Sample {
  readonly [contestant: string]: number;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly contestants: readonly string[];
  /** Programs of the system it cannot run without. */
  readonly needs?: readonly Tool[];
  readonly goals: readonly Goal[];
  /** Prepares processes and models; the returned measurement runs once per repetition, all contestants in turn. */
  open(options: BenchOptions): Promise<OpenScenario>;
}

export interface OpenScenario {
  measure(repetition: number): Promise<Sample>;
  /** Further figures, after the last repetition. */
  tables?(): readonly ReportTable[];
  close(): Promise<void>;
}

/** Figures that are no contestant's: a row each, by column. */
export interface ReportTable {
  readonly title: string;
  readonly rows: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A bound on the medians. */
export interface Goal {
  readonly statement: string;
  readonly bound: number;
  readonly isMinimum: boolean;
  value(medians: Sample): number;
}

export interface BenchOptions {
  /** Seconds of measured load per repetition. */
  readonly seconds: number;
  /** Seconds of load before the first measurement. */
  readonly warmupSeconds: number;
}
