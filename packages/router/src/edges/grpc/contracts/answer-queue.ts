/** Sends the answers of a call in their order. Long ones are written in slices, and those after them wait. */
import type { CancelSignal } from '@millrace/protocol';
import { doAtOnce, type SliceGenerator, type SliceQueue } from '../../slices/slice-queue.ts';

export interface AnswerQueueParts<Answer> {
  readonly slices: SliceQueue;
  /** Whose turn the slices are. */
  readonly owner: string;
  readonly signal: CancelSignal;
  /** False: there is no room for more until the call says so. */
  readonly deliver: (answer: Answer) => boolean;
  /** There is room after a `send` that returned false. */
  readonly onRoom: () => void;
  /** An answer could not be written; it and those after it are not sent. */
  readonly onFailed: (error: unknown) => void;
}

interface WaitingAnswer<Answer> {
  readonly work: SliceGenerator<Answer>;
  readonly isLong: boolean;
}

export class AnswerQueue<Answer> {
  readonly #parts: AnswerQueueParts<Answer>;
  readonly #waiting: WaitingAnswer<Answer>[] = [];
  #isWriting: boolean = false;
  #hasRoom: boolean = true;
  #whenSent: (() => void) | undefined = undefined;

  constructor(parts: AnswerQueueParts<Answer>) {
    this.#parts = parts;
  }

  /** False: there is no room for more until `onRoom`. */
  send(work: SliceGenerator<Answer>, isLong: boolean): boolean {
    if (this.#isWriting) {
      this.#waiting.push({ work, isLong });
      return false;
    }
    return this.#write(work, isLong);
  }

  /** Calls back once, when all that was given to `send` is sent. */
  whenSent(callback: () => void): void {
    if (this.#isWriting) this.#whenSent = callback;
    else callback();
  }

  /** For the call: there is room again. */
  onRoom(): void {
    this.#hasRoom = true;
    if (!this.#isWriting) this.#parts.onRoom();
  }

  #write(work: SliceGenerator<Answer>, isLong: boolean): boolean {
    const { slices, owner, signal, deliver } = this.#parts;
    if (isLong) {
      this.#isWriting = true;
      slices.run(work, owner, signal).then(
        (answer) => this.#onWritten(answer),
        (error: unknown) => this.#fail(error),
      );
      return false;
    }
    let answer: Answer;
    try {
      answer = doAtOnce(work);
    } catch (error) {
      this.#fail(error);
      return false;
    }
    this.#hasRoom = deliver(answer);
    return this.#hasRoom;
  }

  #onWritten(answer: Answer): void {
    this.#isWriting = false;
    this.#hasRoom = this.#parts.deliver(answer);
    while (!this.#isWriting) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#write(next.work, next.isLong);
    }
    if (this.#isWriting) return;
    this.#whenSent?.();
    if (this.#hasRoom) this.#parts.onRoom();
  }

  #fail(error: unknown): void {
    this.#isWriting = false;
    this.#waiting.length = 0;
    this.#whenSent = undefined;
    this.#parts.onFailed(error);
  }
}
