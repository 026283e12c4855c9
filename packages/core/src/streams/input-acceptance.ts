/** Which inputs are durable, and how many more a client may send: what it was told of both, and when to tell it again. */
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { FlowCredit } from './stream-machine-events.ts';

interface UncommittedInput {
  readonly sequence: number;
  readonly bytes: number;
  readonly entryNumber: number;
}

/** Of streams that have had no input. */
const none: never[] = [];
const noCredit: FlowCredit = { messages: 0, bytes: 0 };

export class InputAcceptance {
  readonly #config: StreamMachineConfig;
  #accepted: number;
  #uncommitted: UncommittedInput[] = none;
  #uncommittedBytes = 0;
  #toldInput = 0;
  #toldCredit: FlowCredit = noCredit;
  /** Bytes of the inputs that became durable since. */
  #bytesSinceTold = 0;

  constructor(config: StreamMachineConfig, accepted: number) {
    this.#config = config;
    this.#accepted = accepted;
  }

  /** The highest input that is durable. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Inputs that are appended and not durable. */
  get uncommitted(): number {
    return this.#uncommitted.length;
  }

  add(input: UncommittedInput): void {
    if (this.#uncommitted === none) this.#uncommitted = [];
    this.#uncommitted.push(input);
    this.#uncommittedBytes += input.bytes;
  }

  /** Entries up to this number are durable. */
  commit(entryNumber: number): void {
    let count = 0;
    for (const input of this.#uncommitted) {
      if (input.entryNumber > entryNumber) break;
      this.#accepted = input.sequence;
      this.#uncommittedBytes -= input.bytes;
      this.#bytesSinceTold += input.bytes;
      count += 1;
    }
    if (count > 0) this.#uncommitted.splice(0, count);
  }

  rollBack(): void {
    this.#uncommitted = none;
    this.#uncommittedBytes = 0;
  }

  /**
   * What a client may send after the highest durable input. It only ever allows more than what was said before on the same
   * connection. After a restore there may be none: inputs since the checkpoint are run again, and count as pending.
   */
  creditOf(finishedInput: number, pendingBytes: number): FlowCredit {
    const { pendingInputsMax, pendingBytesMax } = this.#config;
    return {
      messages: Math.max(0, finishedInput + pendingInputsMax - this.#accepted),
      bytes: Math.max(0, Math.min(pendingBytesMax, pendingBytesMax - pendingBytes + this.#uncommittedBytes)),
    };
  }

  /** What is left of the credit that the client was told. */
  get toldCredit(): FlowCredit {
    const { messages, bytes } = this.#toldCredit;
    return {
      messages: Math.max(0, this.#toldInput + messages - this.#accepted),
      bytes: Math.max(0, bytes - this.#bytesSinceTold),
    };
  }

  /** A new client was told nothing. */
  forgetTold(): void {
    this.noteTold(noCredit);
  }

  /** Whether a client has to be told: of inputs that became durable, or that it may send much more than it knows. */
  isNews(credit: FlowCredit): boolean {
    const told = this.#toldCredit;
    const [messages, bytes] = [this.#config.pendingInputsMax / 2, this.#config.pendingBytesMax / 2];
    return (
      this.#accepted > this.#toldInput ||
      (told.messages < messages && credit.messages >= messages) ||
      (told.bytes < bytes && credit.bytes >= bytes)
    );
  }

  noteTold(credit: FlowCredit): void {
    this.#toldInput = this.#accepted;
    this.#toldCredit = credit;
    this.#bytesSinceTold = 0;
  }
}
