/**
 * Serves what the repository holds: everything once at the start and, in poll mode, every change
 * that has settled. Not used in explicit mode, where requests decide (explicit/explicit-loads.ts).
 */
import type { Clock } from '../data-plane/clock.ts';
import { failureReason } from '../model/failure-reason.ts';
import type { ModelFailure } from '../model/model-definition.ts';
import type { ModelLocation } from '../repository/repository-layout.ts';
import type { LibraryListener } from './library-listener.ts';
import type { LibraryControl } from './library-parts.ts';
import { ChangeDetector, type ChangedModel, type DetectedChanges } from './reading/change-detector.ts';
import type { RepositoryReader } from './reading/repository-reader.ts';
import type { RepositorySource } from './reading/repository-source.ts';
import { RepositoryWatch } from './reading/repository-watch.ts';
import type { LibraryContents } from './revisions/library-contents.ts';

export interface RepositoryFollowerParts {
  /** For messages. */
  readonly paths: readonly string[];
  readonly source: RepositorySource;
  readonly control: Pick<LibraryControl, 'pollMs' | 'settleMs'>;
  readonly clock: Clock;
  readonly reader: RepositoryReader;
  readonly contents: LibraryContents;
  readonly listener: LibraryListener;
  /** Called with what is about to be read at the start. */
  readonly onFound: (locations: readonly ModelLocation[]) => void;
  /** Called after a model was read again, with the versions that cannot be served. */
  readonly onRead: (failures: readonly ModelFailure[]) => void;
}

export class RepositoryFollower {
  readonly #parts: RepositoryFollowerParts;
  readonly #detector: ChangeDetector;
  readonly #watch: RepositoryWatch;
  /** By model: why it could not be read, or not wholly. */
  readonly #reasons = new Map<string, string>();
  /** Models that are read again when their files have stopped changing. */
  readonly #again = new Set<string>();
  #isStopped: boolean = false;

  constructor(parts: RepositoryFollowerParts) {
    this.#parts = parts;
    const { source, control, clock } = parts;
    this.#detector = new ChangeDetector(source, control.settleMs);
    this.#watch = new RepositoryWatch({ source, pollMs: control.pollMs, clock, onChange: () => this.#follow() });
  }

  /** Reads every model; returns what cannot be served. Rejects with a `ConfigError` when the paths cannot be used. */
  async readAll(): Promise<readonly ModelFailure[]> {
    const { reader, clock } = this.#parts;
    const { locations } = await reader.mustFind();
    this.#parts.onFound(locations);
    const failures: ModelFailure[] = [];
    await this.#take(await this.#detector.detect(clock.now(), true), (found) => failures.push(...found));
    return failures;
  }

  /** Begins to watch for changes. */
  start(): void {
    this.#watch.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch.stop();
  }

  /** For the mode `none`: the files of a model were found changed when it had to be loaded. Others are left as they are. */
  readAgain(name: string): void {
    if (this.#again.has(name)) return;
    this.#again.add(name);
    void this.#readSettled(name, undefined);
  }

  /** `before`: the state of its files `settleMs` ago. What cannot be read leaves what was read before; the next load asks again. */
  async #readSettled(name: string, before: string | undefined): Promise<void> {
    const { clock, contents, control, listener, onRead, paths, reader, source } = this.#parts;
    if (this.#isStopped) return;
    try {
      const location = (await reader.find()).locations.find((found) => found.name === name);
      const state = location && (await source.fingerprintOf(location)).text;
      if (location !== undefined && state !== before) {
        clock.alarm(control.settleMs, () => void this.#readSettled(name, state));
        return;
      }
      if (location !== undefined) {
        const { failures, read } = await reader.read(location);
        contents.put(name, failures, read);
        onRead(failures);
        contents.apply();
      }
    } catch (error) {
      listener.repositoryWarned({ source: paths.join(', '), message: uncheckedMessage(error) });
    }
    this.#again.delete(name);
  }

  /** Applies changes that have settled. Whatever happens, served versions continue to serve. */
  async #follow(): Promise<void> {
    const { clock, contents, control, listener, onRead, paths } = this.#parts;
    try {
      const changes = await this.#detector.detect(clock.now());
      await this.#take(changes, onRead);
      for (const name of changes.removed) {
        contents.remove(name);
        this.#reasons.delete(name);
      }
      if (changes.changed.length > 0 || changes.removed.length > 0) contents.apply();
      if (changes.isUnsettled) this.#watch.checkWithin(control.settleMs);
    } catch (error) {
      listener.repositoryWarned({ source: paths.join(', '), message: uncheckedMessage(error) });
    }
  }

  /** Reads what is new or changed for the next `apply`; problems are passed on and are in the status. */
  async #take(
    { warnings, broken, changed }: DetectedChanges,
    onRead: (failures: readonly ModelFailure[]) => void,
  ): Promise<void> {
    const { contents, listener } = this.#parts;
    for (const warning of warnings) listener.repositoryWarned(warning);
    for (const failure of broken) {
      contents.put(failure.name, [failure], undefined);
      onRead([failure]);
    }
    for (const one of changed) await this.#read(one, onRead);
  }

  async #read({ location, isRetry }: ChangedModel, onRead: (failures: readonly ModelFailure[]) => void): Promise<void> {
    const { name } = location;
    const { failures, read } = await this.#parts.reader.read(location);
    this.#detector.noteRead(name, failures.length > 0);
    const reasons = failures.map(failureReason).join('\n');
    const isKnown = isRetry && this.#reasons.get(name) === reasons;
    if (reasons === '') this.#reasons.delete(name);
    else this.#reasons.set(name, reasons);
    if (isKnown) return;
    this.#parts.contents.put(name, failures, read);
    onRead(failures);
  }
}

function uncheckedMessage(error: unknown): string {
  return `could not be checked for changes: ${error instanceof Error ? error.message : String(error)}`;
}
