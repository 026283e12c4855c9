/** Faults as people write them: `delay 200ms jitter 50ms for 3s`. */
import { formatBytes, takeBytes, takeSeconds } from '../config/units.ts';
import { chaosKinds, type Fault } from './fault.ts';

/** The forms, for help and errors. */
export const faultForms: readonly string[] = [
  'cut',
  'reset',
  'half-close client|server',
  'black-hole [for TIME]',
  'delay TIME [jitter TIME] [for TIME]',
  'limit BYTES [for TIME]',
  'heal',
];

const timeMsMax = 24 * 3600 * 1000;

/** Throws an `Error` whose message says what is wrong with the text. */
export function faultFrom(text: string): Fault {
  const [kind = '', ...rest] = text.trim().split(/\s+/);
  const words = new FaultReader(kind, rest);
  const fault = readFault(kind, words);
  words.end();
  return fault;
}

function readFault(kind: string, words: FaultReader): Fault {
  switch (kind) {
    case 'cut':
    case 'reset':
    case 'heal':
      return { kind };
    case 'half-close': {
      const side = words.next('client or server');
      if (side !== 'client' && side !== 'server') throw new Error(`half-close needs client or server, not "${side}"`);
      return { kind, side };
    }
    case 'black-hole':
      return { kind, forMs: words.takeTime('for') };
    case 'delay': {
      const delayMs = words.time(words.next('a time'));
      return { kind, delayMs, jitterMs: words.takeTime('jitter') ?? 0, forMs: words.takeTime('for') };
    }
    case 'limit': {
      const written = words.next('bytes a second');
      const bytesPerSecond = takeBytes(written);
      if (bytesPerSecond === undefined || bytesPerSecond < 1) {
        throw new Error(`limit needs bytes a second, like 64KiB, not "${written}"`);
      }
      return { kind, bytesPerSecond, forMs: words.takeTime('for') };
    }
    default:
      throw new Error(`"${kind}" is not a fault; give one of ${[...chaosKinds, 'heal'].join(', ')}`);
  }
}

export function faultText(fault: Fault): string {
  switch (fault.kind) {
    case 'half-close':
      return `half-close ${fault.side}`;
    case 'black-hole':
      return `black-hole${forText(fault.forMs)}`;
    case 'delay': {
      const jitter = fault.jitterMs === 0 ? '' : ` jitter ${fault.jitterMs}ms`;
      return `delay ${fault.delayMs}ms${jitter}${forText(fault.forMs)}`;
    }
    case 'limit':
      return `limit ${formatBytes(fault.bytesPerSecond)}${forText(fault.forMs)}`;
    default:
      return fault.kind;
  }
}

function forText(forMs: number | undefined): string {
  return forMs === undefined ? '' : ` for ${forMs}ms`;
}

/** `200ms`, `3s`, `2min`: milliseconds. Throws an `Error` without a unit: whether `5` is long should not be guessed. */
export function timeMsFrom(text: string): number {
  const seconds = /[a-z]$/i.test(text) ? takeSeconds(text) : undefined;
  const ms = seconds === undefined ? Number.NaN : Math.round(seconds * 1000);
  if (!(ms >= 0 && ms <= timeMsMax))
    throw new Error(`needs a time up to 24h with its unit, like 200ms or 3s, not "${text}"`);
  return ms;
}

/** Reads the words after the name of a fault in order. */
class FaultReader {
  readonly #kind: string;
  readonly #words: string[];

  constructor(kind: string, words: readonly string[]) {
    this.#kind = kind;
    this.#words = [...words];
  }

  next(what: string): string {
    const word = this.#words.shift();
    if (word === undefined) throw new Error(`${this.#kind} needs ${what}`);
    return word;
  }

  time(word: string): number {
    try {
      return timeMsFrom(word);
    } catch (error) {
      throw new Error(`${this.#kind} ${(error as Error).message}`);
    }
  }

  takeTime(name: 'for' | 'jitter'): number | undefined {
    if (this.#words[0] !== name) return undefined;
    this.#words.shift();
    return this.time(this.next(`a time after ${name}`));
  }

  end(): void {
    const [extra] = this.#words;
    if (extra !== undefined) throw new Error(`unexpected argument "${extra}" after ${this.#kind}`);
  }
}
