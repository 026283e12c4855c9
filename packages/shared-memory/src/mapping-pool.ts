import { type Mapping, takeNewMapping } from './mapping.ts';

/** Unused mappings that are kept; their pages have been returned to the system. */
export const idleMappingsMax = 8;

/**
 * Reuses mappings of workers that ended for new ones: a new mapping counts as memory of the heap, so that the garbage
 * collector runs a full collection, and all callers wait some 20 ms while a model is loaded.
 */
export class MappingPool {
  readonly #idle: Mapping[] = [];

  /** As `takeNewMapping`; the memory is all zeros either way. */
  take(bytes: number, onUnavailable: (reason: string) => void): Mapping | undefined {
    const at = this.#idle.findIndex((mapping) => mapping.bytes.length === bytes);
    return at < 0 ? takeNewMapping(bytes, onUnavailable) : this.#idle.splice(at, 1)[0];
  }

  /** Nobody uses any of it any more, in this process or another. */
  giveBack(mapping: Mapping): void {
    // What is not all zeros is nobody else's.
    if (mapping.discard() && this.#idle.length < idleMappingsMax) this.#idle.push(mapping);
    else mapping.closeDescriptor();
  }
}
