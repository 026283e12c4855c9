/**
 * Sizes of axes and elements of shapes as sums of products of symbols: N is the number of rows, the others stand for sizes that do not
 * depend on it. Two sizes are equal only if they are so for every value of the symbols.
 */

/** The number of rows. */
export const rowsSymbol = 'N';

/** Longer sums are not tracked; the caller treats them as unknown. */
const termsMax = 24;
/** Products of more symbols are not tracked either. */
const symbolsMax = 32;

export class Size {
  /** Coefficient by product; a product is its symbols, sorted, joined by `*`; the empty one is 1. None is 0. */
  readonly #terms: ReadonlyMap<string, number>;
  /** Equal for equal sizes. */
  readonly key: string;

  private constructor(terms: ReadonlyMap<string, number>) {
    this.#terms = terms;
    this.key =
      terms.size === 0
        ? '0'
        : [...terms]
            .map(([product, coefficient]) => {
              if (product === '') return `${coefficient}`;
              return coefficient === 1 ? product : `${coefficient}*${product}`;
            })
            .sort(compareText)
            .join('+');
  }

  static constant(value: number): Size {
    return new Size(value === 0 ? new Map() : new Map([['', value]]));
  }

  static symbol(name: string): Size {
    return new Size(new Map([[name, 1]]));
  }

  /** Undefined unless it is the same number for all values of the symbols. */
  get constantValue(): number | undefined {
    if (this.#terms.size === 0) return 0;
    return this.#terms.size === 1 ? this.#terms.get('') : undefined;
  }

  get dependsOnRows(): boolean {
    for (const product of this.#terms.keys()) if (product.split('*').includes(rowsSymbol)) return true;
    return false;
  }

  get symbols(): ReadonlySet<string> {
    const symbols = new Set<string>();
    for (const product of this.#terms.keys())
      if (product !== '') for (const name of product.split('*')) symbols.add(name);
    return symbols;
  }

  equals(other: Size): boolean {
    return this.key === other.key;
  }

  is(value: number): boolean {
    return this.constantValue === value;
  }

  /** Every coefficient is positive, so that with symbols that are not negative it is not either. */
  get hasPositiveTermsOnly(): boolean {
    for (const coefficient of this.#terms.values()) if (coefficient < 0) return false;
    return true;
  }

  /** The term without symbols. */
  get constantTerm(): number {
    return this.#terms.get('') ?? 0;
  }

  /** Undefined when the result is not tracked: too long, or too large to be exact. */
  plus(other: Size): Size | undefined {
    const terms = new Map(this.#terms);
    for (const [product, coefficient] of other.#terms) {
      const sum = (terms.get(product) ?? 0) + coefficient;
      if (sum === 0) terms.delete(product);
      else terms.set(product, sum);
    }
    return sizeFrom(terms);
  }

  times(other: Size): Size | undefined {
    const terms = new Map<string, number>();
    for (const [left, leftCoefficient] of this.#terms) {
      for (const [right, rightCoefficient] of other.#terms) {
        const product = productOf(left, right);
        const sum = (terms.get(product) ?? 0) + leftCoefficient * rightCoefficient;
        if (sum === 0) terms.delete(product);
        else terms.set(product, sum);
      }
    }
    return sizeFrom(terms);
  }

  minus(other: Size): Size | undefined {
    const negative = other.times(Size.constant(-1));
    return negative === undefined ? undefined : this.plus(negative);
  }

  /** The quotient if it is a sum of whole products, with nothing left over, for all values of the symbols. */
  dividedBy(other: Size): Size | undefined {
    if (other.#terms.size === 0) return undefined;
    if (this.#terms.size === 0) return this;
    const [first] = this.#terms;
    const [divisor] = other.#terms;
    if (first === undefined || divisor === undefined) return undefined;
    if (other.#terms.size === 1) {
      const terms = new Map<string, number>();
      for (const term of this.#terms) {
        const quotient = termQuotient(term, divisor);
        if (quotient === undefined) return undefined;
        terms.set(...quotient);
      }
      return sizeFrom(terms);
    }
    // A sum divides only what is a single product times itself.
    for (const term of other.#terms) {
      const quotient = termQuotient(first, term);
      if (quotient === undefined) continue;
      const candidate = new Size(new Map([quotient]));
      if (candidate.times(other)?.equals(this) === true) return candidate;
    }
    return undefined;
  }

  static product(sizes: readonly Size[]): Size | undefined {
    let product: Size | undefined = Size.constant(1);
    for (const size of sizes) product = product?.times(size);
    return product;
  }

  static from(terms: ReadonlyMap<string, number>): Size {
    return new Size(terms);
  }
}

function sizeFrom(terms: ReadonlyMap<string, number>): Size | undefined {
  if (terms.size > termsMax) return undefined;
  for (const [product, coefficient] of terms) {
    if (!Number.isSafeInteger(coefficient) || product.split('*').length > symbolsMax) return undefined;
  }
  return Size.from(terms);
}

function productOf(left: string, right: string): string {
  if (left === '') return right;
  if (right === '') return left;
  return [...left.split('*'), ...right.split('*')].sort(compareText).join('*');
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

type Term = readonly [product: string, coefficient: number];

function termQuotient([product, coefficient]: Term, [divisor, by]: Term): [string, number] | undefined {
  if (coefficient % by !== 0) return undefined;
  const rest = product === '' ? [] : product.split('*');
  for (const symbol of divisor === '' ? [] : divisor.split('*')) {
    const at = rest.indexOf(symbol);
    if (at === -1) return undefined;
    rest.splice(at, 1);
  }
  return [rest.join('*'), coefficient / by];
}

export const one = Size.constant(1);
export const rowCount = Size.symbol(rowsSymbol);
