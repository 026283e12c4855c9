import type {
  FromWorker,
  LoadSpec,
  ModelContent,
  Region,
  ToWorker,
  WorkerIdentity,
  WorkerLink,
} from '@millrace/protocol';

/** Describes the files of a model by what they contain; rejects when they cannot be read. */
export type DescribeContent = (spec: Pick<LoadSpec, 'path' | 'folder'>) => Promise<ModelContent>;

type Held = ToWorker | 'stop';

/**
 * A link that loads by content: each load is sent when its files have been described, and what follows it waits with it, so
 * that messages keep their order.
 */
export class ContentLoads implements WorkerLink {
  readonly #link: WorkerLink;
  readonly #describe: DescribeContent;
  readonly #receive: (message: FromWorker) => void;
  /** Behind a load whose files are being described. */
  readonly #held: Held[] = [];
  #isDescribing: boolean = false;
  #isGone: boolean = false;

  constructor(
    open: (receive: (message: FromWorker) => void) => WorkerLink,
    describe: DescribeContent,
    receive: (message: FromWorker) => void,
  ) {
    this.#describe = describe;
    this.#receive = receive;
    this.#link = open((message) => {
      if (message.kind === 'gone') this.#gone();
      receive(message);
    });
  }

  get identity(): WorkerIdentity | undefined {
    return this.#link.identity;
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  lend(bytes: number): Region {
    return this.#link.lend(bytes);
  }

  send(message: ToWorker): void {
    if (this.#isDescribing) this.#held.push(message);
    else this.#pass(message);
  }

  stop(): void {
    if (this.#isDescribing) this.#held.push('stop');
    else this.#link.stop();
  }

  kill(reason?: string): void {
    this.#link.kill(reason);
  }

  #pass(message: Held): void {
    if (message === 'stop') this.#link.stop();
    else if (message.kind === 'load' && !this.#isGone) this.#load(message.spec);
    else this.#link.send(message);
  }

  #load(spec: LoadSpec): void {
    this.#isDescribing = true;
    void this.#described(spec).then(() => {
      this.#isDescribing = false;
      this.#passHeld();
    });
  }

  async #described(spec: LoadSpec): Promise<void> {
    try {
      const content = await this.#describe(spec);
      this.#link.send({ kind: 'load', spec: { ...spec, content } });
    } catch (error) {
      const { model, name, version } = spec;
      const message = `model "${name}" version ${version} could not be loaded: ${(error as Error).message}`;
      if (!this.#isGone) this.#receive({ kind: 'load-failed', model, message });
    }
  }

  #passHeld(): void {
    while (!this.#isDescribing && this.#held.length > 0) this.#pass(this.#held.shift() as Held);
  }

  /** The link releases the memory of what it is sent from now on. */
  #gone(): void {
    this.#isGone = true;
    this.#isDescribing = false;
    this.#passHeld();
  }
}
