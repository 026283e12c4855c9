/** Compares the repository with what it held at the last check, and reports a change once the files have stopped changing. */
import type { ConfigProblem } from '@millrace/protocol';
import { formatConfigProblem } from '@millrace/protocol';
import type { ModelFailure } from '../../model/model-definition.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import type { ModelFingerprint } from './fingerprint.ts';
import type { RepositorySource } from './repository-source.ts';

export interface ChangedModel {
  readonly location: ModelLocation;
  readonly fingerprint: ModelFingerprint;
  /** Nothing changed; its last read failed, and the cause may have passed. */
  readonly isRetry: boolean;
}

export interface DetectedChanges {
  /** Models that are new or changed, and have not changed since the check before; and those to be read again after a failure. */
  readonly changed: readonly ChangedModel[];
  /** Models that cannot be opened, likewise. */
  readonly broken: readonly ModelFailure[];
  /** Models that were removed, likewise. */
  readonly removed: readonly string[];
  /** Problems and warnings about the repository that were not reported before. */
  readonly warnings: readonly ConfigProblem[];
  /** Files are changing: another check is due soon. */
  readonly isUnsettled: boolean;
}

const gone = 'gone';
/** A model that could not be read is read again after one check, then two, four and so on up to this many. */
const checksBetweenReadsMax = 64;

/** How many checks pass before the next read, and how many of them are left. */
interface FailedRead {
  readonly checks: number;
  left: number;
}

export class ChangeDetector {
  readonly #source: Pick<RepositorySource, 'find' | 'fingerprintOf'>;
  readonly #settleMs: number;
  /** By model: its state when it was last reported. */
  readonly #told = new Map<string, string>();
  /** By model: its new state, and since when it has not changed. */
  readonly #seen = new Map<string, { readonly text: string; readonly since: number }>();
  /** Models that could not be read, or not wholly: the cause may pass without a change of their files. */
  readonly #failed = new Map<string, FailedRead>();
  #warned = new Set<string>();

  /** A model is reported once its files have stayed unchanged for `settleMs`. */
  constructor(source: Pick<RepositorySource, 'find' | 'fingerprintOf'>, settleMs: number) {
    this.#source = source;
    this.#settleMs = settleMs;
  }

  /** The first check reports every model without waiting. */
  async detect(nowMs: number, isFirst = false): Promise<DetectedChanges> {
    const found = await this.#source.find();
    const warnings = this.#newWarnings([...found.problems, ...found.warnings]);
    // A repository that is temporarily unreadable must not unload its models.
    if (found.problems.length > 0) {
      return { changed: [], broken: [], removed: [], warnings, isUnsettled: false };
    }
    const present = new Set<string>();
    const changed: ChangedModel[] = [];
    for (const location of found.locations) {
      const fingerprint = await this.#source.fingerprintOf(location);
      present.add(location.name);
      const isRetry = this.#told.get(location.name) === fingerprint.text;
      if (this.#isSettledChange(location.name, fingerprint.text, nowMs, isFirst))
        changed.push({ location, fingerprint, isRetry });
    }
    const broken = found.failures.filter((failure) => {
      present.add(failure.name);
      return this.#isSettledChange(failure.name, failure.problems.map(formatConfigProblem).join(), nowMs, isFirst);
    });
    const removed = [...this.#told.keys()].filter(
      (name) => !present.has(name) && this.#isSettledChange(name, gone, nowMs, false),
    );
    for (const name of removed) {
      this.#told.delete(name);
      this.#failed.delete(name);
    }
    for (const name of [...this.#seen.keys()]) if (!present.has(name) && !this.#told.has(name)) this.#seen.delete(name);
    return { changed, broken, removed, warnings, isUnsettled: this.#seen.size > 0 };
  }

  /** To be called after each read of a model that was reported. */
  noteRead(name: string, hasFailed: boolean): void {
    const checks = Math.min(checksBetweenReadsMax, (this.#failed.get(name)?.checks ?? 0.5) * 2);
    if (hasFailed) this.#failed.set(name, { checks, left: checks });
    else this.#failed.delete(name);
  }

  #isSettledChange(name: string, text: string, nowMs: number, isFirst: boolean): boolean {
    if (this.#told.get(name) === text) {
      this.#seen.delete(name);
      const failed = this.#failed.get(name);
      if (failed !== undefined) failed.left -= 1;
      return failed?.left === 0;
    }
    const seen = this.#seen.get(name);
    const isSettled = isFirst || (seen?.text === text && nowMs - seen.since >= this.#settleMs);
    if (!isSettled) {
      if (seen?.text !== text) this.#seen.set(name, { text, since: nowMs });
      return false;
    }
    this.#seen.delete(name);
    this.#told.set(name, text);
    return true;
  }

  #newWarnings(warnings: readonly ConfigProblem[]): readonly ConfigProblem[] {
    const fresh = warnings.filter((warning) => !this.#warned.has(formatConfigProblem(warning)));
    this.#warned = new Set(warnings.map(formatConfigProblem));
    return fresh;
  }
}
