/** A second client of a stream that another one has: it takes the stream over, hears a little, and is superseded or leaves. */
import type { DialectLink, StreamDialect } from './dialect.ts';
import type { DurableClient } from './durable-client.ts';
import { outputBytes } from './output-bytes.ts';

const staysMs = 1500;

export class Rival {
  readonly whenOver: Promise<void>;
  readonly #link: DialectLink;
  readonly #timer: NodeJS.Timeout;
  #over: () => void = () => {};

  /** `onProblem`: what it heard is not what the stream says. */
  constructor(
    { options: { id, expected }, lastOutput }: DurableClient,
    dialect: StreamDialect,
    address: string,
    onProblem: (problem: string) => void,
  ) {
    this.whenOver = new Promise((resolve) => {
      this.#over = resolve;
    });
    let last = lastOutput;
    this.#link = dialect.connect(
      address,
      {
        kind: 'open',
        streamId: id,
        mode: 'resume',
        context: '',
        parameters: {},
        // What it says it has seen must not make the server forget outputs that the other one has not.
        resumeAfter: lastOutput,
        protocolVersions: [],
      },
      {
        onFrame: (frame) => {
          if (frame.kind !== 'output') return;
          if (frame.sequence !== last + 1) onProblem(`output ${frame.sequence} came after output ${last}`);
          last = frame.sequence;
          const wanted = expected?.[last - 1];
          const isSame = wanted !== undefined && Buffer.compare(wanted, outputBytes(frame)) === 0;
          if (!isSame) onProblem(`output ${last} differs from the undisturbed run`);
        },
        onClosed: () => this.close(),
      },
    );
    this.#timer = setTimeout(() => this.close(), staysMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#link.close();
    this.#over();
  }
}
