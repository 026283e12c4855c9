/**
 * Messages out of the pieces of a body: a flag, a length of 32 bits, the message. gRPC, gRPC-Web and Connect have this form.
 * A message that lies in one piece is a view of it.
 */
import { MillraceError } from '../../errors/millrace-error.ts';
import { messagePrefixBytes, type RpcOutcome, statusCode } from './rpc-call.ts';
import { brokenOutcome, faultOutcome } from './rpc-outcome.ts';

/** The longest message that is read, unless a transport is told otherwise. */
export const messageBytesMaxDefault = 512 * 1024 * 1024;

export class AnswerReader {
  readonly #take: (message: Uint8Array, flag: number) => void;
  readonly #messageBytesMax: number;
  #pieces: Uint8Array[] | undefined = undefined;
  #have = 0;
  /** Bytes of the message that is arriving, with its prefix; 0: not known yet. */
  #need = 0;

  /** `take` may throw a `BrokenAnswer` for a flag that it does not know. */
  constructor(take: (message: Uint8Array, flag: number) => void, messageBytesMax: number = messageBytesMaxDefault) {
    this.#take = take;
    this.#messageBytesMax = messageBytesMax;
  }

  get isInMessage(): boolean {
    return this.#have > 0;
  }

  /** Throws a `BrokenAnswer` for a message that is compressed or too long. */
  read(piece: Uint8Array): void {
    let rest = piece;
    while (rest.length > 0) {
      if (this.#pieces !== undefined) {
        this.#pieces.push(rest);
        this.#have += rest.length;
        if (this.#have < Math.max(messagePrefixBytes, this.#need)) return;
        rest = joined(this.#pieces);
        this.#pieces = undefined;
        this.#have = 0;
        this.#need = 0;
      }
      const bytes = rest.length < messagePrefixBytes ? 0 : this.#lengthIn(rest);
      if (bytes === 0 || bytes > rest.length) {
        this.#need = bytes;
        this.#have = rest.length;
        this.#pieces = [rest];
        return;
      }
      this.#take(rest.subarray(messagePrefixBytes, bytes), rest[0] as number);
      rest = rest.subarray(bytes);
    }
  }

  #lengthIn(bytes: Uint8Array): number {
    if (((bytes[0] as number) & 1) !== 0) {
      throw brokenAnswer('a message of the answer is compressed, which was not asked for');
    }
    const lower = ((bytes[2] as number) << 16) | ((bytes[3] as number) << 8) | (bytes[4] as number);
    const length = (bytes[1] as number) * 0x1000000 + lower;
    if (length > this.#messageBytesMax) {
      throw new BrokenAnswer(tooLongOutcome(length, this.#messageBytesMax));
    }
    return messagePrefixBytes + length;
  }
}

/** The rest of an answer cannot be read. */
export class BrokenAnswer extends Error {
  readonly outcome: RpcOutcome;

  constructor(outcome: RpcOutcome) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

/** The server has broken the protocol. */
export function brokenAnswer(message: string): BrokenAnswer {
  return new BrokenAnswer(brokenOutcome(message));
}

export function unknownFlag(flag: number): BrokenAnswer {
  return brokenAnswer(`a message of the answer has the flag ${flag}`);
}

export function tooLongOutcome(bytes: number, bytesMax: number): RpcOutcome {
  const told = `a message of the answer has ${bytes} bytes; at most ${bytesMax} are read`;
  return faultOutcome(statusCode.resourceExhausted, new MillraceError('request-too-large', told));
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
