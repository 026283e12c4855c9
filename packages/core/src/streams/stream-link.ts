/** A client's connection to a stream: which output it gets next, as far as its credit and its transport go. */
import type { OutputLog } from './output-log.ts';
import type { OutputEntry, SizedPayload } from './stream-entries.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { FlowCredit, LinkId, StreamMachineEvent } from './stream-machine-events.ts';

type AttachedEvent = Omit<StreamMachineEvent<never> & { kind: 'attached' }, 'kind' | 'link'>;

/** Of links that have been sent nothing that counts: most streams are idle. */
const none: number[] = [];

export class StreamLink<Payload extends SizedPayload> {
  readonly id: LinkId;
  readonly isAcknowledging: boolean;
  readonly resumeAfter: number;
  /** `opened` was sent. */
  isOpened: boolean = false;
  readonly #clientId: string;
  readonly #attempt: number;
  readonly #outputs: OutputLog<Payload>;
  #sent: number;
  #credit: FlowCredit;
  /** The output that the credit counts from, and the bytes of all outputs up to it. */
  #creditFrom: number;
  #bytesBefore: number;
  /** Bytes of the outputs sent after it. */
  #sentBytes = 0;
  /** The last output that the transport has taken, and the bytes of those sent after it. */
  #taken: number;
  #unsentBytes = 0;
  /** The bytes of each output sent after one of the two, whichever is earlier; the first is at `#sizesHead`. */
  #sizes: number[] = none;
  #sizesHead = 0;

  constructor(id: LinkId, outputs: OutputLog<Payload>, options: AttachedEvent) {
    this.id = id;
    this.#clientId = options.clientId ?? '';
    this.#attempt = options.attempt ?? 0;
    this.isAcknowledging = options.isAcknowledging;
    this.resumeAfter = options.resumeAfter;
    this.#outputs = outputs;
    this.#sent = options.resumeAfter;
    this.#credit = options.credit;
    this.#creditFrom = options.resumeAfter;
    this.#taken = options.resumeAfter;
    this.#bytesBefore = outputs.bytesInAll - outputs.bytesAfter(options.resumeAfter);
  }

  /** The client of both opened this one after the other. */
  isAfter({ clientId = '', attempt = 0 }: AttachedEvent): boolean {
    return clientId !== '' && clientId === this.#clientId && attempt < this.#attempt;
  }

  /** The last output sent, or the one that the client resumed after. */
  get sent(): number {
    return this.#sent;
  }

  /** The last output that its credit counts from: those after it may be lost with the link. */
  get handled(): number {
    return this.#creditFrom;
  }

  /** The client has handled outputs up to this one; those not sent on this link were sent on an earlier one. */
  renew(output: number, credit: FlowCredit | undefined): void {
    if (credit !== undefined) this.#setCredit(output, credit);
    const handled = Math.min(output, this.#sent);
    if (this.#creditFrom >= handled) return;
    const bytes = this.#bytesBetween(this.#creditFrom, handled);
    this.#sentBytes -= bytes;
    this.#bytesBefore += bytes;
    const sizesFrom = this.#sizesFrom;
    this.#creditFrom = handled;
    this.#forgetSizes(this.#sizesFrom - sizesFrom);
  }

  /** The transport has taken the outputs up to this one. */
  take(output: number): void {
    const taken = Math.min(output, this.#sent);
    if (this.#taken >= taken) return;
    this.#unsentBytes -= this.#bytesBetween(this.#taken, taken);
    const sizesFrom = this.#sizesFrom;
    this.#taken = taken;
    this.#forgetSizes(this.#sizesFrom - sizesFrom);
  }

  /** The output before the first whose bytes are known. */
  get #sizesFrom(): number {
    return Math.min(this.#creditFrom, this.#taken);
  }

  /** Bytes of the outputs after one and up to another. */
  #bytesBetween(after: number, upTo: number): number {
    const before = this.#sizesHead - this.#sizesFrom - 1;
    let bytes = 0;
    for (let output = after + 1; output <= upTo; output++) bytes += this.#sizes[before + output] as number;
    return bytes;
  }

  #forgetSizes(count: number): void {
    this.#sizesHead += count;
    // Moving what is left costs less than once an output.
    if (this.#sizesHead * 2 < this.#sizes.length) return;
    this.#sizes = this.#sizesHead === this.#sizes.length ? none : this.#sizes.slice(this.#sizesHead);
    this.#sizesHead = 0;
  }

  /** A credit that counts from an output before the current one may be older: it counts only if it allows more. */
  #setCredit(output: number, credit: FlowCredit): void {
    const messages = credit.messages - Math.max(0, this.#creditFrom - output);
    if (output >= this.#creditFrom || messages > this.#credit.messages) {
      this.#credit = { messages, bytes: credit.bytes };
    }
  }

  /** The next output, if it is durable, within the credit, and the transport has room: one may always wait there. */
  takeNext({ unsentOutputsMax, unsentBytesMax }: StreamMachineConfig): OutputEntry<Payload> | undefined {
    const sequence = this.#sent + 1;
    if (sequence > this.#outputs.durable || sequence > this.#creditFrom + this.#credit.messages) return undefined;
    const output = this.#outputs.take(sequence) as OutputEntry<Payload>;
    const bytes = output.payload?.byteLength ?? 0;
    if (!this.#hasByteCredit(this.#sentBytes, bytes, this.#credit.bytes)) return undefined;
    const unsent = this.#sent - this.#taken;
    if (unsent >= unsentOutputsMax || (unsent > 0 && this.#unsentBytes + bytes > unsentBytesMax)) return undefined;
    this.#sent = sequence;
    this.#unsentBytes += bytes;
    this.#sentBytes += bytes;
    if (this.#sizes === none) this.#sizes = [];
    this.#sizes.push(bytes);
    return output;
  }

  /** Outputs that may be made for this client, beyond those that are numbered. */
  roomFor(retainedOutputsMax: number, retainedBytesMax: number): number {
    const outputs = this.#outputs;
    const bytesAhead = outputs.bytesInAll - this.#bytesBefore;
    if (!this.#hasByteCredit(bytesAhead, 1, Math.min(this.#credit.bytes, retainedBytesMax))) return 0;
    const ahead = this.#creditFrom + Math.min(this.#credit.messages, retainedOutputsMax) - outputs.last;
    if (!this.isAcknowledging) return Math.max(0, ahead);
    if (outputs.retainedBytes >= retainedBytesMax) return 0;
    return Math.max(0, Math.min(ahead, retainedOutputsMax - outputs.retainedCount));
  }

  /** One output may be larger than the credit, else it could never be sent; without any credit it waits. */
  #hasByteCredit(used: number, bytes: number, credit: number): boolean {
    return credit > 0 && (used === 0 || used + bytes <= credit);
  }
}
