/**
 * A model repository in memory: folders whose files change while they are read. The library reads it as it would read a
 * disk; reports of changes come late or not at all.
 */
import type { RepositorySource } from '@millrace/router/internal';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { mebibyte } from '../world/weather.ts';
import { definitionOf, type Instances, type VersionFile } from './definitions.ts';
import type { WorldModel } from './layout.ts';
import { policyFor, sequencesFor } from './policies.ts';

type Found = Awaited<ReturnType<RepositorySource['find']>>;
type Location = Parameters<RepositorySource['read']>[0];
type Fingerprint = Awaited<ReturnType<RepositorySource['fingerprintOf']>>;
type FileFingerprint = Awaited<ReturnType<RepositorySource['fingerprintOfVersion']>>;
type Reading = Awaited<ReturnType<RepositorySource['read']>>;

const never = Number.NEGATIVE_INFINITY;

interface Folder {
  readonly model: WorldModel;
  readonly files: Map<string, VersionFile>;
  instances: Instances;
  isUnreadable: boolean;
  /** When it last could be read again. */
  readableAtMs: number;
}

export class SimulatedRepository implements RepositorySource {
  readonly #world: SimulatedWorld;
  readonly #folders = new Map<string, Folder>();
  readonly #files = new Map<number, VersionFile>();
  readonly #watchers = new Set<() => void>();
  #stampCount = 0;
  /** What changed in folders, in order. */
  readonly #changes: { readonly model: WorldModel; readonly atMs: number }[] = [];
  /** By stamp: how many changes there were when its file was written. */
  readonly #changesBefore = new Map<number, number>();
  /** By stamp: when the file was written anew or removed. */
  readonly #replacedAtMs = new Map<number, number>();

  /** How long it takes to compare the files of a version; in most worlds no time. */
  readonly checkMsMax: number;

  constructor(world: SimulatedWorld) {
    this.#world = world;
    this.checkMsMax = world.checkRandom.chance(0.3) ? world.checkRandom.integer(1, 30) : 0;
  }

  async find(): Promise<Found> {
    await this.#reads();
    const locations = [...this.#folders.values()].map(({ model, files }) => ({
      name: model.name,
      path: `/models/${model.name}`,
      isSingleFile: false,
      hasConfig: true,
      versions: [...files.keys()],
    }));
    return { locations, failures: [], problems: [], warnings: [] };
  }

  /** As of folders on a disk: of the versions that were found before, each as it is now. */
  async fingerprintOf({ name, versions: found }: Location): Promise<Fingerprint> {
    await this.#reads();
    const folder = this.#folders.get(name);
    const versions = new Map(found.map((version) => [version, fingerprintOfFile(folder?.files.get(version))]));
    const others = [folder?.instances.join(), folder?.isUnreadable];
    const all = [...versions].map(([version, { text }]) => `${version}=${text}`);
    return { text: [...all, ...others].join(' '), versions };
  }

  async fingerprintOfVersion({ name }: Location, version: string): Promise<FileFingerprint> {
    const { timeline, checkRandom } = this.#world;
    const readMs = checkRandom.integer(0, this.checkMsMax);
    if (readMs > 0) await new Promise<void>((resolve) => void timeline.after(readMs, resolve));
    return fingerprintOfFile(this.#folders.get(name)?.files.get(version));
  }

  async read({ name, versions }: Location): Promise<Reading> {
    await this.#reads();
    const folder = this.#folders.get(name);
    const found = versions.flatMap((version) => folder?.files.get(version) ?? []);
    if (folder === undefined || folder.isUnreadable || found.length === 0) {
      const problems = [{ source: `/models/${name}`, message: 'it cannot be read' }];
      return { definition: undefined, failures: [{ name, version: '', problems }], warnings: [] };
    }
    const { hasGroups, aloneEvery } = this.#world.weather;
    const tensors = { hasGroups, hasOverride: aloneEvery > 0 };
    const files = found.sort((left, right) => Number(left.version) - Number(right.version));
    return { definition: definitionOf(folder.model, files, folder.instances, tensors), failures: [], warnings: [] };
  }

  watch(onChange: () => void): { refresh(): Promise<void>; close(): void } {
    this.#watchers.add(onChange);
    return { refresh: () => this.#reads(), close: () => this.#watchers.delete(onChange) };
  }

  has(name: string): boolean {
    return this.#folders.has(name);
  }

  mustFile(stamp: number): VersionFile {
    const file = this.#files.get(stamp);
    if (file === undefined) throw new Error(`there was never a file with stamp ${stamp}`);
    return file;
  }

  /** What a worker finds at a path; undefined: nothing. */
  takeFileAt(path: string): VersionFile | undefined {
    const [, , name = '', version = ''] = path.split('/');
    return this.#folders.get(name)?.files.get(version);
  }

  /** What a version holds now; undefined: it is not there, or cannot be read. */
  takeStamp(name: string, version: string): number | undefined {
    const folder = this.#folders.get(name);
    return folder?.isUnreadable === false ? folder.files.get(version)?.stamp : undefined;
  }

  /** When something first changed by which a revision with this file may be replaced; undefined: nothing has. */
  changedAfter(stamp: number): number | undefined {
    const { model } = this.mustFile(stamp);
    const isOfRevision = (other: WorldModel): boolean =>
      other.name === model.name || (model.isShared && other.isShared);
    const later = this.#changes.slice(this.#changesBefore.get(stamp));
    return later.find((change) => isOfRevision(change.model))?.atMs;
  }

  /** When this file itself was written anew or removed; undefined: it is still there. */
  replacedAt(stamp: number): number | undefined {
    return this.#replacedAtMs.get(stamp);
  }

  /** When a model last could not be read: now, if it cannot. */
  unreadableUntil(name: string): number {
    const { isUnreadable, readableAtMs } = this.#folders.get(name) ?? { isUnreadable: true, readableAtMs: never };
    return isUnreadable ? this.#world.timeline.nowMs : readableAtMs;
  }

  /** What should be served now. */
  present(): readonly VersionFile[] {
    return [...this.#folders.values()].flatMap(({ files }) => [...files.values()]);
  }

  /** Adds the folder of a model, with one version or more. */
  add(model: WorldModel): void {
    const { random } = this.#world;
    const folder: Folder = {
      model,
      files: new Map(),
      instances: this.#instancesOf(model),
      isUnreadable: false,
      readableAtMs: never,
    };
    this.#folders.set(model.name, folder);
    for (let version = 1; version <= model.versionsMax; version++) {
      if (version === 1 || random.chance(0.7)) this.#write(folder, `${version}`);
    }
    this.#report(model);
  }

  remove(name: string): void {
    const folder = this.#folders.get(name);
    if (folder === undefined) return;
    this.#folders.delete(name);
    for (const file of folder.files.values()) this.#noteReplaced(file);
    this.#report(folder.model);
  }

  /** Writes a version anew, or adds or removes one. */
  change(name: string): void {
    const { random } = this.#world;
    const folder = this.#folders.get(name);
    if (folder === undefined) return;
    const version = `${random.integer(1, folder.model.versionsMax)}`;
    const isRemoved = folder.files.size > 1 && folder.files.has(version) && random.chance(0.3);
    this.#noteReplaced(folder.files.get(version));
    if (isRemoved) folder.files.delete(version);
    else this.#write(folder, version);
    this.#report(folder.model);
  }

  /** One instance more or less; the priorities that they take may change. */
  resize(name: string): void {
    const folder = this.#folders.get(name);
    if (folder === undefined) return;
    folder.instances = this.#instancesOf(folder.model);
    this.#report(folder.model);
  }

  setUnreadable(name: string, isUnreadable: boolean): void {
    const folder = this.#folders.get(name);
    if (folder === undefined || folder.isUnreadable === isUnreadable) return;
    folder.isUnreadable = isUnreadable;
    folder.readableAtMs = this.#world.timeline.nowMs;
    this.#report(folder.model);
  }

  /** Everything can be read from here on. */
  calm(): void {
    for (const name of this.#folders.keys()) this.setUnreadable(name, false);
  }

  #write(folder: Folder, version: string): void {
    const { random } = this.#world;
    this.#stampCount += 1;
    const file: VersionFile = {
      stamp: this.#stampCount,
      model: folder.model,
      version,
      bytes: random.integer(5, 60) * mebibyte,
      policy: policyFor(folder.model, this.#world),
      sequences: sequencesFor(folder.model, this.#world),
    };
    this.#files.set(file.stamp, file);
    // The change that writes it is reported afterwards.
    this.#changesBefore.set(file.stamp, this.#changes.length + 1);
    folder.files.set(version, file);
  }

  #noteReplaced(file: VersionFile | undefined): void {
    if (file !== undefined) this.#replacedAtMs.set(file.stamp, this.#world.timeline.nowMs);
  }

  /** The first takes requests of all priorities. */
  #instancesOf({ isConcurrent }: WorldModel): Instances {
    const { random, weather } = this.#world;
    const isReserved = (): boolean => !isConcurrent && random.chance(weather.reservedInstance);
    const others = random.chance(weather.soleInstance)
      ? []
      : [isReserved() ? random.integer(1, 2) : Number.POSITIVE_INFINITY];
    return [Number.POSITIVE_INFINITY, ...others];
  }

  #report(model: WorldModel): void {
    const { timeline, random } = this.#world;
    this.#changes.push({ model, atMs: timeline.nowMs });
    this.#world.note(
      'repository holds',
      this.present().map(({ model, version, stamp }) => `${model.name}:${version}/${stamp}`),
    );
    if (random.chance(0.3)) return;
    timeline.after(random.integer(0, 20), () => {
      for (const onChange of this.#watchers) onChange();
    });
  }

  async #reads(): Promise<void> {
    const { timeline, random, weather } = this.#world;
    const readMs = random.integer(0, weather.readMsMax);
    if (readMs > 0) await new Promise<void>((resolve) => void timeline.after(readMs, resolve));
  }
}

function fingerprintOfFile(file: VersionFile | undefined): FileFingerprint {
  return file === undefined ? { text: 'absent', bytes: 0 } : { text: `${file.stamp}`, bytes: file.bytes };
}
