import { type Mapping, takeNewMapping } from './mapping.ts';

/** Mappings that are kept although nobody uses them; their pages have been given back. */
export const idleMappingsMax = 8;

/**
 * Hands mappings on from workers that are gone to those that come: a new one counts as memory of the heap's, so that
 * the collector goes over everything at once, and all callers wait some 20 ms while a model is loaded.
 */
export class MappingPool {
  readonly #idle: Mapping[] = [];

  /** As `takeNewMapping`; the memory is all zeros either way. */
  take(bytes: number, onUnavailable: (reason: string) => void): Mapping | undefined {
    const at = this.#idle.findIndex((mapping) => mapping.bytes.length === bytes);
    return at < 0 ? takeNewMapping(bytes, onUnavailable) : this.#idle.splice(at, 1)[0];
  }

  /** Nobody holds any of it any more, in this process or another. */
  giveBack(mapping: Mapping): void {
    mapping.discard();
    if (this.#idle.length < idleMappingsMax) this.#idle.push(mapping);
    else mapping.closeDescriptor();
  }
}
