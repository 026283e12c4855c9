import type { ConfigProblem, JsonObject } from '@millrace/protocol';
import type { CommandSpec } from '../command-table.ts';

/** Reads positional arguments in order; a missing one is a problem whose message has the usage line. */
export class ArgumentReader {
  readonly problems: ConfigProblem[] = [];
  readonly #source: string;
  readonly #usage: string;
  readonly #args: string[];

  constructor(command: CommandSpec, args: readonly string[]) {
    this.#source = `millrace ${command.name}`;
    this.#usage = command.usage;
    this.#args = [...args];
  }

  take(): string | undefined {
    return this.#args.shift();
  }

  next(what: string): string {
    const argument = this.take();
    if (argument !== undefined && argument !== '') return argument;
    if (this.problems.length === 0) {
      this.problems.push({ source: this.#source, message: `needs ${what}: ${this.#source} ${this.#usage}` });
    }
    return '';
  }

  /** The rest, as `VERSION=NUMBER`. */
  shares(what: string, member: string): JsonObject[] {
    if (this.#args.length === 0) this.next(`VERSION=${what}`);
    return this.#args.splice(0).map((argument) => {
      const match = /^([^=]+)=(\d+(?:\.\d+)?)$/.exec(argument);
      if (match === null)
        this.problems.push({ source: this.#source, message: `"${argument}" must be VERSION=${what}, like 2=10` });
      return { version: match?.[1] ?? '', [member]: Number(match?.[2] ?? 0) };
    });
  }
}
