/** What happened to one stream, for whoever has to find out why it went wrong. */

const linesMax = 80;

export class StreamHistory {
  readonly problems: string[] = [];
  readonly #head: string;
  readonly #lines: string[] = [];
  #untilProblem: string | undefined;

  constructor(head: string) {
    this.#head = head;
  }

  note(text: string): void {
    if (this.#lines.length === linesMax) this.#lines.shift();
    this.#lines.push(`${new Date().toISOString().slice(14, 23)} ${text}`);
  }

  problem(text: string): void {
    this.note(`! ${text}`);
    this.problems.push(text);
    this.#untilProblem ??= this.#written();
  }

  /** Until the first problem, if there was one. */
  get text(): string {
    return this.#untilProblem ?? this.#written();
  }

  #written(): string {
    return [`${this.#head}:`, ...this.#lines].join('\n    ');
  }
}
