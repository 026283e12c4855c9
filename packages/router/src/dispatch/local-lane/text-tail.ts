/** Keeps the end of a text that may be endless: what a process said last is why it died. */
export class TextTail {
  readonly #charactersMax: number;
  #text = '';

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  push(text: string): void {
    this.#text = (this.#text + text).slice(-this.#charactersMax);
  }

  /** The last lines, at most so many, joined by a bar. Stack frames are left out: they push out what they explain. */
  lastLines(linesMax: number): string {
    return this.#text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('at '))
      .slice(-linesMax)
      .join(' | ');
  }
}
