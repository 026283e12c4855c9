/** A streaming call of a contract, and its messages, controlled by a test. */
import type { RequestListener } from '@millrace/http';
import { Cancellation } from '@millrace/protocol';

const messageBytes = 100;

export class MessagesDouble<Message> {
  isPaused: boolean = false;
  /** Of messages whose memory is still needed. */
  keptBytes = 0;
  #listener: RequestListener<Message> | undefined;
  readonly #waiting: Message[] = [];
  #hasEnded: boolean = false;

  listen(listener: RequestListener<Message>): void {
    this.#listener = listener;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.#deliver();
  }

  done(bytes: number): void {
    this.keptBytes -= bytes;
  }

  push(...messages: readonly Message[]): void {
    this.#waiting.push(...messages);
    this.#deliver();
  }

  end(): void {
    this.#hasEnded = true;
    this.#deliver();
  }

  #deliver(): void {
    while (!this.isPaused && this.#waiting.length > 0) {
      const message = this.#waiting.shift() as Message;
      if (this.#listener?.keepsMessages === true) this.keptBytes += messageBytes;
      this.#listener?.onMessage(message, messageBytes);
    }
    if (!this.#hasEnded || this.isPaused || this.#waiting.length > 0) return;
    this.#hasEnded = false;
    this.#listener?.onEnd();
  }
}

export class ContractCallDouble<Response> {
  readonly metadata: { get(name: string): string | undefined; getAll(name: string): readonly string[] };
  readonly peer = { address: '10.0.0.7', port: 1, isEncrypted: false, owner: '10.0.0.7', isTrustedProxy: false };
  readonly signal = new Cancellation();
  readonly leading = new FieldsDouble();
  readonly trailing = new FieldsDouble();
  /** Bytes of a prompt that is not complete. */
  countedBytes = 0;
  readonly memory = {
    hasRoomToKeep: () => true,
    count: (bytes: number) => {
      this.countedBytes += bytes;
    },
    give: (bytes: number) => {
      this.countedBytes -= bytes;
    },
  };
  subject = '';
  hasRoom = true;
  isStarted: boolean = false;
  readonly sent: Response[] = [];
  /** 'ended', or the error; undefined while it lasts. */
  ending: unknown;
  onRoom: (() => void) | undefined = undefined;
  readonly #listeners: ((error: undefined) => void)[] = [];

  constructor(metadata: Readonly<Record<string, string>> = {}) {
    this.metadata = {
      get: (name) => metadata[name],
      getAll: (name) => (metadata[name] === undefined ? [] : [metadata[name]]),
    };
  }

  start(): void {
    this.isStarted = true;
  }

  send(response: Response): boolean {
    if (this.ending !== undefined) throw new Error('a message was sent after the end of the call');
    this.sent.push(response);
    return this.hasRoom;
  }

  end(): void {
    this.#over('ended');
  }

  fail(error: unknown): void {
    this.#over(error);
  }

  whenEnded(listener: (error: undefined) => void): void {
    this.#listeners.push(listener);
  }

  /** The caller is gone, or its deadline has passed. */
  lose(): void {
    this.#over('lost');
  }

  #over(ending: unknown): void {
    if (this.ending !== undefined) return;
    this.ending = ending;
    for (const listener of this.#listeners) listener(undefined);
  }
}

class FieldsDouble {
  readonly fields: [name: string, value: string][] = [];

  add(name: string, value: string | Uint8Array): void {
    this.fields.push([name, String(value)]);
  }

  get byName(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.fields);
  }
}
