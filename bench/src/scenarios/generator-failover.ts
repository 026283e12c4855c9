/** What a reader of a generated text notices when its worker is killed: how long the next token takes, beside the first token of a new text. */
import { createClient, type GeneratedText } from '@millrace/client';
import { millraceServing, type RunningContestant, startContestants, stopContestants } from '../contestant.ts';
import { median } from '../statistics.ts';

const model = 'storyteller';
const prompt = 'Once upon a time';
/** The text has so many tokens when its worker dies, and each of them is computed again. */
export const tokensBeforeKill = 60;
const tokens = 2 * tokensBeforeKill;

export class GeneratorFailover {
  readonly #server: RunningContestant;
  readonly #firstMs: number[] = [];
  readonly #afterKillMs: number[] = [];

  private constructor(server: RunningContestant) {
    this.#server = server;
  }

  /** @param path a repository with the bundled generator; the server has all its processes on one core. */
  static async start(path: string): Promise<GeneratorFailover> {
    const [server] = await startContestants([millraceServing(path, 'local')]);
    return new GeneratorFailover(server as RunningContestant);
  }

  async measure(): Promise<void> {
    const client = createClient(`http://127.0.0.1:${this.#server.port}`);
    const begin = (): GeneratedText =>
      client.generate(model, prompt, { maxTokens: tokens, temperature: 0, parameters: { ignore_eos: true } });
    try {
      // The first text of a server waits for code that is compiled.
      await begin().text();
      const beganAt = performance.now();
      let first: number | undefined;
      let expected = '';
      for await (const { text } of begin()) {
        first ??= performance.now() - beganAt;
        expected += text;
      }
      this.#firstMs.push(first ?? Number.NaN);
      const { longestMs, text } = await this.#disturbed(begin(), await this.#workers());
      if (text !== expected) throw new Error(`the text after the kill is another: ${text}`);
      this.#afterKillMs.push(longestMs);
    } finally {
      client.close();
    }
  }

  /** Processes that hold the model, which a standby does not. */
  async #workers(): Promise<readonly number[]> {
    const answer = await fetch(`http://127.0.0.1:${this.#server.port}/v1/management/instances`);
    const { instances } = (await answer.json()) as { readonly instances: readonly { readonly pid: number }[] };
    if (instances.length === 0) throw new Error(`no worker holds ${model}`);
    return instances.map(({ pid }) => pid);
  }

  /** The longest time without a token from the kill on: tokens that were on their way may still arrive after it. */
  async #disturbed(
    generated: GeneratedText,
    workers: readonly number[],
  ): Promise<{ readonly longestMs: number; readonly text: string }> {
    let text = '';
    let count = 0;
    let longestMs = 0;
    let lastAt: number | undefined;
    for await (const piece of generated) {
      const now = performance.now();
      if (lastAt !== undefined) longestMs = Math.max(longestMs, now - lastAt);
      if (lastAt !== undefined) lastAt = now;
      text += piece.text;
      count += 1;
      if (count !== tokensBeforeKill) continue;
      for (const worker of workers) process.kill(worker, 'SIGKILL');
      lastAt = performance.now();
    }
    return { longestMs, text };
  }

  medians(): { readonly firstMs: number; readonly afterKillMs: number } {
    return { firstMs: median(this.#firstMs), afterKillMs: median(this.#afterKillMs) };
  }

  async stop(): Promise<void> {
    await stopContestants([this.#server]);
  }
}
