/** What is printed during a drill: a line for each thing that really happened, who saw it, and when. */
import type { CommandEnvironment } from '../run-command.ts';

/** `drill`: what was done on purpose. `log`: a line of the server's log. */
export type Witness = 'client' | 'server' | 'drill' | 'log';

export class DrillTranscript {
  readonly #parts: Pick<CommandEnvironment, 'stdout' | 'now'>;
  readonly #isJson: boolean;
  readonly #beganAt: number;

  constructor(parts: Pick<CommandEnvironment, 'stdout' | 'now'>, isJson: boolean) {
    this.#parts = parts;
    this.#isJson = isJson;
    this.#beganAt = parts.now();
  }

  add(witness: Witness, text: string): void {
    const seconds = Number(((this.#parts.now() - this.#beganAt) / 1000).toFixed(3));
    this.#write(this.#isJson ? JSON.stringify({ seconds, witness, text }) : `${witness}: ${text}`);
  }

  verdict(verdict: { readonly kind: string; readonly isPassed: boolean; readonly text: string } & object): void {
    const { text, ...fields } = verdict;
    this.#write(this.#isJson ? JSON.stringify({ verdict: text, ...fields }) : `verdict: ${text}\n`);
  }

  #write(line: string): void {
    this.#parts.stdout.write(`${line}\n`);
  }
}
