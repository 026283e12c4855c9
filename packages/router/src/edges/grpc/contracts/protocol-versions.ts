/**
 * Which version of a contract a call speaks. A client declares what it speaks, the server chooses the highest that both do,
 * tells it, and refuses by name where there is none. What is deprecated is served, with a notice.
 */
import type { MetadataWriter } from '@millrace/http';
import { InferenceError, quote } from '@millrace/protocol';

/** Metadata of a call that lists versions, separated by commas: the client speaks these and no others. */
const versionsKey = 'millrace-protocol-versions';
/** Metadata of the answer: the version that was chosen. */
const versionKey = 'millrace-protocol-version';
/** Metadata of the answer: what the client should change before the version is taken out of service. */
const deprecationKey = 'millrace-deprecation';

/** Versions that a client may list. */
export const listedVersionsMax = 16;

export interface ContractVersion {
  readonly name: string;
  /** Why it is deprecated, and what to do instead; undefined: it is not. */
  readonly deprecation?: string;
}

export class ProtocolVersions<Version extends ContractVersion> {
  readonly #contract: string;
  readonly #served: readonly Version[];

  /** `served`: the lowest first. */
  constructor(contract: string, served: readonly Version[]) {
    this.#contract = contract;
    this.#served = served;
  }

  /** What the list in the metadata leads to; undefined: there is none. Throws `unsupported` if no listed version is served. */
  takeListed(metadata: { getAll(name: string): readonly string[] }): Version | undefined {
    const listed = metadata
      .getAll(versionsKey)
      .flatMap((field) => field.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== '');
    if (listed.length === 0) return undefined;
    if (listed.length > listedVersionsMax) {
      throw new InferenceError(
        'request-too-large',
        `metadata ${versionsKey} lists ${listed.length} versions, more than the ${listedVersionsMax} allowed; list fewer`,
      );
    }
    const spoken = new Set(listed.map((name) => name.toUpperCase()));
    const chosen = this.#served.findLast(({ name }) => spoken.has(name));
    if (chosen === undefined) throw this.#unspoken(listed.join(', '));
    return chosen;
  }

  /** The version that a message names. Throws `unsupported` if it is not served: nobody can tell whether the client reads an older one. */
  mustServe(name: string): Version {
    const found = this.#served.find((version) => version.name === name);
    if (found === undefined) throw this.#unspoken(name);
    return found;
  }

  #unspoken(spoken: string): InferenceError {
    const served = this.#served.map(({ name }) => name).join(', ');
    return new InferenceError(
      'unsupported',
      `the client speaks version ${quote(spoken)} of ${this.#contract}, and this server ${served}; list what you speak in the metadata ${versionsKey}, for instance '${served}'`,
    );
  }
}

/** Tells the client what was chosen, before the first answer. */
export function announceVersion({ name, deprecation }: ContractVersion, leading: Pick<MetadataWriter, 'add'>): void {
  leading.add(versionKey, name);
  if (deprecation !== undefined) leading.add(deprecationKey, deprecation);
}
