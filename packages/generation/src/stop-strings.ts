/**
 * Ends a text before the first stop string, wherever the borders of tokens are. The match that is complete first wins, and of several
 * that end at the same character the longest, which is what reading character by character finds. Text that may be the beginning of a
 * stop string is held back.
 */

export interface ScannedText {
  /** What may be passed on now. */
  readonly text: string;
  /** The stop string that was found; the text ends here. */
  readonly stoppedBy: string | undefined;
}

export class StopStringScanner {
  readonly #stops: readonly StopString[];
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops.map((text) => ({ text, failures: failuresOf(text), matched: 0 }));
  }

  /** @param text whole characters */
  push(text: string): ScannedText {
    const scanned = this.#held + text;
    for (let at = this.#held.length; at < scanned.length; at++) {
      const stop = this.#advance(scanned.charCodeAt(at));
      if (stop !== undefined) {
        this.#held = '';
        return { text: scanned.slice(0, at + 1 - stop.length), stoppedBy: stop };
      }
    }
    const heldLength = this.#stops.reduce((longest, { matched }) => Math.max(longest, matched), 0);
    this.#held = scanned.slice(scanned.length - heldLength);
    return { text: scanned.slice(0, scanned.length - heldLength), stoppedBy: undefined };
  }

  /** The text goes on no more: what was held back was no stop string. */
  end(): string {
    const text = this.#held;
    this.#held = '';
    for (const stop of this.#stops) stop.matched = 0;
    return text;
  }

  #advance(code: number): string | undefined {
    let found: string | undefined;
    for (const stop of this.#stops) {
      while (stop.matched > 0 && stop.text.charCodeAt(stop.matched) !== code) {
        stop.matched = stop.failures[stop.matched - 1] as number;
      }
      if (stop.text.charCodeAt(stop.matched) === code) stop.matched += 1;
      if (stop.matched === stop.text.length && stop.text.length > (found?.length ?? 0)) found = stop.text;
    }
    return found;
  }
}

/** Knuth, Morris and Pratt: how much of the stop string stands at the end of the text, without looking back. */
interface StopString {
  readonly text: string;
  readonly failures: readonly number[];
  matched: number;
}

/** Of each beginning: the length of the longest shorter one that it ends with. */
function failuresOf(text: string): readonly number[] {
  const failures = [0];
  let matched = 0;
  for (let at = 1; at < text.length; at++) {
    while (matched > 0 && text[at] !== text[matched]) matched = failures[matched - 1] as number;
    if (text[at] === text[matched]) matched += 1;
    failures.push(matched);
  }
  return failures;
}
