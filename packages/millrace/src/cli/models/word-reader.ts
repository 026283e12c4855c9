import type { ConfigProblem, JsonObject } from '@millrace/protocol';
import type { CommandSpec } from '../command-table.ts';

/** The arguments in order; each that is missing is a problem with the usage line beside it. */
export class WordReader {
  readonly problems: ConfigProblem[] = [];
  readonly #source: string;
  readonly #usage: string;
  readonly #words: string[];

  constructor(command: CommandSpec, words: readonly string[]) {
    this.#source = `millrace ${command.name}`;
    this.#usage = command.usage;
    this.#words = [...words];
  }

  take(): string | undefined {
    return this.#words.shift();
  }

  next(what: string): string {
    const word = this.take();
    if (word !== undefined && word !== '') return word;
    if (this.problems.length === 0) {
      this.problems.push({ source: this.#source, message: `needs ${what}: ${this.#source} ${this.#usage}` });
    }
    return '';
  }

  /** The rest, as `VERSION=NUMBER`. */
  shares(what: string, member: string): JsonObject[] {
    if (this.#words.length === 0) this.next(`VERSION=${what}`);
    return this.#words.splice(0).map((word) => {
      const match = /^([^=]+)=(\d+(?:\.\d+)?)$/.exec(word);
      if (match === null)
        this.problems.push({ source: this.#source, message: `"${word}" must be VERSION=${what}, like 2=10` });
      return { version: match?.[1] ?? '', [member]: Number(match?.[2] ?? 0) };
    });
  }
}
