/** What the repository holds beside what is served, so that a refusal can say what to do about it. */
import { nearestName, quote, quotedCharactersMax, shortened } from '@millrace/protocol';
import type { UnservedVersions } from '../model/model-definition.ts';

/** The most names that a misspelt one is compared with, and its length: anyone may send it, as often as they like. */
const comparedNamesMax = 200;
const comparedLengthMax = 48;

export class UnservedModels {
  /** As the repository was last read. */
  #inRepository: ReadonlySet<string> = new Set();
  #advice: (name: string) => string = () => '';
  readonly #versions = new Map<string, UnservedVersions>();

  /** The names of all models in the repository; `advice` says how one of them can be served. */
  noteRepository(names: ReadonlySet<string>, advice: (name: string) => string): void {
    this.#inRepository = names;
    this.#advice = advice;
  }

  noteVersions(name: string, unserved: UnservedVersions | undefined): void {
    if (unserved === undefined) this.#versions.delete(name);
    else this.#versions.set(name, unserved);
  }

  /** By model: its versions that are on disk, and why they are not served. */
  get versions(): ReadonlyMap<string, UnservedVersions> {
    return this.#versions;
  }

  /** Begins with Triton's text, because its clients match on it. */
  unknownModelText(name: string, served: Iterable<string>): string {
    const text = `Request for unknown model: ${quote(name)} is not found`;
    if (this.#inRepository.has(name)) {
      return `${text} among the loaded models; it is in the repository: ${this.#advice(name)}`;
    }
    const near = this.#nearest(name, served);
    return near === undefined ? text : `${text}. Did you mean ${quote(near)}?`;
  }

  unknownVersionText(name: string, version: string): string {
    const text = `Request for unknown model: ${quote(name)} version ${shortened(version, quotedCharactersMax)} is not found`;
    const unserved = this.#versions.get(name);
    return unserved?.versions.includes(version) === true
      ? `${text} among the served versions; it is in the repository, but ${unserved.reason}`
      : text;
  }

  #nearest(name: string, served: Iterable<string>): string | undefined {
    if (name.length > comparedLengthMax) return undefined;
    const known = new Set<string>();
    for (const names of [served, this.#inRepository]) {
      for (const one of names) {
        if (known.size === comparedNamesMax) break;
        known.add(one);
      }
    }
    return nearestName(name, known);
  }
}
