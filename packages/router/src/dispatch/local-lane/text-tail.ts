/** Keeps the end of an unbounded text: the last output of a process usually says why it exited. */
export class TextTail {
  readonly #charactersMax: number;
  #text = '';

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  push(text: string): void {
    this.#text = (this.#text + text).slice(-this.#charactersMax);
  }

  /** The last `linesMax` lines, joined by a bar. Stack frames are left out, because they would displace the error message. */
  lastLines(linesMax: number): string {
    return this.#text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('at '))
      .slice(-linesMax)
      .join(' | ');
  }
}
