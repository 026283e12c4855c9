/** Messages of gRPC out of the pieces of a body: a flag, a length of 32 bits, the message. One that lies in one piece is a view of it. */
import { readUint32BigEndian } from '@millrace/http2';
import { unreadableAnswer } from '../../errors/millrace-error.ts';

export const messagePrefixBytes = 5;
/** The longest message that is read. */
const messageBytesMax = 512 * 1024 * 1024;

export class AnswerReader {
  readonly #take: (message: Buffer) => void;
  #pieces: Buffer[] | undefined = undefined;
  #have = 0;
  /** Bytes of the message that is arriving, with its prefix; 0: not known yet. */
  #need = 0;

  constructor(take: (message: Buffer) => void) {
    this.#take = take;
  }

  get isInMessage(): boolean {
    return this.#have > 0;
  }

  /** Throws for a message that is compressed or too long. */
  read(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0) {
      if (this.#pieces !== undefined) {
        this.#pieces.push(rest);
        this.#have += rest.length;
        if (this.#have < Math.max(messagePrefixBytes, this.#need)) return;
        rest = Buffer.concat(this.#pieces, this.#have);
        this.#pieces = undefined;
        this.#have = 0;
        this.#need = 0;
      }
      const bytes = rest.length < messagePrefixBytes ? 0 : lengthIn(rest);
      if (bytes === 0 || bytes > rest.length) {
        this.#need = bytes;
        this.#have = rest.length;
        this.#pieces = [rest];
        return;
      }
      this.#take(rest.subarray(messagePrefixBytes, bytes));
      rest = rest.subarray(bytes);
    }
  }
}

function lengthIn(bytes: Buffer): number {
  if (bytes[0] !== 0) throw unreadableAnswer('a message is compressed, which was not asked for');
  const length = readUint32BigEndian(bytes, 1);
  if (length > messageBytesMax) throw unreadableAnswer(`a message has ${length} bytes`);
  return messagePrefixBytes + length;
}
