import { rowsSymbol, Size } from './size.ts';

/** Creates symbols for sizes that are not known. None of them depends on the number of rows. */
export class Symbols {
  #count = 0;
  /** Symbols of results, by the computation. */
  readonly #results = new Map<string, Size>();
  /** Symbols that may be negative: elements of tensors, unlike sizes of axes. */
  readonly #signed = new Set<string>();

  /** A size of an axis that nothing is known of. */
  size(): Size {
    return Size.symbol(`s${++this.#count}`);
  }

  /** An element of a tensor that nothing is known of; it may be negative. */
  element(): Size {
    const name = `e${++this.#count}`;
    this.#signed.add(name);
    return Size.symbol(name);
  }

  /** The same symbol for the same text: the size that results from the same computation. */
  result(computation: string): Size {
    const known = this.#results.get(computation);
    if (known !== undefined) return known;
    const size = this.size();
    this.#results.set(computation, size);
    return size;
  }

  /** Made of sizes of axes and constants alone, so that it is a whole number. */
  isSizeOnly(size: Size): boolean {
    for (const name of size.symbols) if (this.#signed.has(name)) return false;
    return true;
  }

  /** Certainly at least 0. */
  isNotNegative(size: Size): boolean {
    return size.hasPositiveTermsOnly && this.isSizeOnly(size);
  }

  /** Certainly more than 0: with N, which is at least 1, or a constant in it. */
  isPositive(size: Size): boolean {
    if (!this.isNotNegative(size)) return false;
    if (size.constantTerm > 0) return true;
    const { symbols } = size;
    return symbols.size > 0 && [...symbols].every((name) => name === rowsSymbol);
  }
}
