/** The inputs of a durable stream on one call: what is on its way, whether there is credit for more, and whose they are. */
import type { CallMemory } from '@millrace/http';
import type { StreamCredit } from '@millrace/protocol';

/** Ids of requests that wait for answers. Beyond, the oldest is forgotten: only repeated inputs can be so many. */
const requestIdsMax = 256;
/** Of an entry beside the characters of the id. */
const requestIdBytes = 64;

interface SentInput {
  readonly sequence: number;
  readonly bytes: number;
}

export class DurableInputFlow {
  /** The highest input that is durable. */
  #accepted: number;
  #credit: StreamCredit;
  /** Every input up to this one is durable or was sent on this call. */
  #reached: number;
  /** Inputs after it, which wait for those between. */
  #early: Set<number> | undefined;
  #unaccepted: SentInput[] = [];
  #unacceptedBytes = 0;
  /** By input: the requests of this call that are not completely answered. */
  readonly #requestIds = new Map<number, string>();
  /** Of the call: it holds the ids. */
  readonly #memory: Pick<CallMemory, 'count' | 'give'> | undefined;

  /** `memory`: of the call, where its requests have ids. */
  constructor(accepted: number, credit: StreamCredit, memory?: Pick<CallMemory, 'count' | 'give'>) {
    this.#memory = memory;
    this.#accepted = accepted;
    this.#credit = credit;
    this.#reached = accepted;
  }

  get accepted(): number {
    return this.#accepted;
  }

  /** The next input of a client that does not number them. */
  get next(): number {
    return this.#reached + 1;
  }

  /** Only the next input waits for credit: one that was sent before is ignored, one after a gap is judged by the stream. */
  hasRoomFor(sequence: number): boolean {
    if (sequence !== this.next) return true;
    const { messages, bytes } = this.#credit;
    return sequence <= this.#accepted + messages && this.#unacceptedBytes < bytes;
  }

  /** False: the stream has the input already. */
  add(sequence: number, bytes: number, requestId: string): boolean {
    if (requestId !== '') this.#noteRequest(sequence, requestId);
    if (sequence <= this.#reached || this.#early?.has(sequence) === true) return false;
    this.#unaccepted.push({ sequence, bytes });
    this.#unacceptedBytes += bytes;
    if (sequence > this.next) {
      this.#early ??= new Set();
      this.#early.add(sequence);
    } else {
      this.#reached = sequence;
      while (this.#early?.delete(this.next) === true) this.#reached += 1;
    }
    return true;
  }

  accept(input: number, credit: StreamCredit | undefined): void {
    this.#accepted = input;
    this.#reached = Math.max(this.#reached, input);
    for (const sequence of this.#early ?? []) if (sequence <= input) this.#early?.delete(sequence);
    if (credit !== undefined) this.#credit = credit;
    const left = this.#unaccepted.filter(({ sequence }) => sequence > input);
    if (left.length === this.#unaccepted.length) return;
    this.#unaccepted = left;
    this.#unacceptedBytes = left.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  requestIdOf(sequence: number): string {
    return this.#requestIds.get(sequence) ?? '';
  }

  /** Outputs come in the order of the inputs: those before it are answered too, on this call or an earlier one. */
  forgetAnswered(input: number): void {
    for (const sequence of this.#requestIds.keys()) if (sequence <= input) this.#forgetRequest(sequence);
  }

  /** The call has nothing more to do with the stream. */
  release(): void {
    this.forgetAnswered(Number.POSITIVE_INFINITY);
  }

  /** Inputs that were sent and cannot be applied, because one before them is missing. */
  get stranded(): readonly number[] {
    return [...(this.#early ?? [])].sort((left, right) => left - right);
  }

  #noteRequest(sequence: number, requestId: string): void {
    this.#forgetRequest(sequence);
    this.#requestIds.set(sequence, requestId);
    this.#memory?.count(bytesOf(requestId));
    if (this.#requestIds.size <= requestIdsMax) return;
    const [oldest] = this.#requestIds.keys();
    this.#forgetRequest(oldest as number);
  }

  #forgetRequest(sequence: number): void {
    const requestId = this.#requestIds.get(sequence);
    if (requestId === undefined) return;
    this.#requestIds.delete(sequence);
    this.#memory?.give(bytesOf(requestId));
  }
}

function bytesOf(requestId: string): number {
  return requestIdBytes + 2 * requestId.length;
}
