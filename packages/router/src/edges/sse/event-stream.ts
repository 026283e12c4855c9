/**
 * One connection of a client that listens to a stream. Frames wait as they are journaled, and become events when the
 * transport asks for more; only what it has taken gives the stream credit for more outputs.
 */
import { type CancelSignal, InferenceError, type InputFrame, type OpenFrame } from '@millrace/protocol';
import type {
  AttachedLink,
  StreamCaller,
  StreamGateway,
  StreamLinkFrame,
  StreamListenerOfLink,
} from '../../streams/stream-gateway.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import { OutputMemo } from '../streams/output-memo.ts';
import { encodeErrorEvent, encodeEventSlices, encodeEvents, keepAliveComment } from './encode-response.ts';
import type { KeepAlives, KeptAlive } from './keep-alives.ts';

/** Bytes of payload that are encoded at once; a larger output is encoded in slices, alone. */
const bytesAtOnceMax = 16 * 1024;

export interface EventStreamParts {
  readonly gateway: StreamGateway;
  readonly slices: SliceQueue;
  readonly keepAlives: KeepAlives;
}

export class EventStream implements StreamListenerOfLink, KeptAlive, AsyncIterable<Uint8Array> {
  /** Resolves with the first frame; rejects with an `InferenceError` where the stream cannot be opened. */
  readonly whenOpened: Promise<void>;
  readonly #parts: EventStreamParts;
  readonly #owner: string;
  readonly #signal: CancelSignal;
  readonly #link: AttachedLink;
  readonly #memo = new OutputMemo();
  #waiting: StreamLinkFrame[] = [];
  /** The last output that the transport was given, and the last one that it has taken. */
  #given: number;
  #taken: number;
  #isOver: boolean = false;
  #isIdle: boolean = false;
  #error: InferenceError | undefined;
  #onOpened: ((error: InferenceError | undefined) => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(parts: EventStreamParts, open: OpenFrame, caller: StreamCaller, signal: CancelSignal) {
    this.#parts = parts;
    this.#owner = caller.caller;
    this.#signal = signal;
    this.#given = open.resumeAfter;
    this.#taken = open.resumeAfter;
    this.whenOpened = new Promise((resolve, reject) => {
      this.#onOpened = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.#link = parts.gateway.attach(open, caller, { isAcknowledging: false }, this);
    signal.onCancel(() => {
      this.detach();
      this.onClosed(new InferenceError('cancelled', 'the caller went away'));
    });
  }

  input(frame: InputFrame): void {
    this.#link.input(frame);
  }

  /** The connection is lost or its response has been sent: an unfinished stream waits for a resume. */
  detach(): void {
    this.#parts.keepAlives.remove(this);
    this.#link.detach();
  }

  onFrame(frame: StreamLinkFrame): void {
    this.#waiting.push(frame);
    this.#settle(undefined);
    this.#wakeUp();
  }

  onClosed(error: InferenceError | undefined): void {
    this.#isOver = true;
    this.#error = error;
    this.#settle(error);
    this.#wakeUp();
  }

  onIdle(): void {
    this.#isIdle = true;
    this.#wakeUp();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      while (this.#signal.reason === undefined) {
        this.#renewCredit();
        const frames = this.#takeFrames();
        if (frames.length > 0) {
          yield this.#encoded(frames);
        } else if (this.#isOver) {
          if (this.#error !== undefined) yield encodeErrorEvent(this.#error);
          return;
        } else if (this.#isIdle) {
          this.#isIdle = false;
          yield keepAliveComment;
        } else await this.#frameOrEnd();
      }
    } catch (error) {
      // Encoding in slices is given up when the caller is gone.
      if (this.#signal.reason === undefined) throw error;
    } finally {
      this.detach();
    }
  }

  #frameOrEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #settle(error: InferenceError | undefined): void {
    const onOpened = this.#onOpened;
    this.#onOpened = undefined;
    onOpened?.(error);
  }

  /** Called when the transport asks for more, so it has room again: what it was given before is taken. */
  #renewCredit(): void {
    if (this.#given === this.#taken) return;
    this.#taken = this.#given;
    this.#link.taken(this.#taken);
  }

  /** The next frames, as many as are encoded at once, or one that is larger. */
  #takeFrames(): readonly StreamLinkFrame[] {
    const waiting = this.#waiting;
    let count = 0;
    for (let bytes = 0; count < waiting.length; count += 1) {
      const frame = waiting[count] as StreamLinkFrame;
      bytes += payloadBytesOf(frame);
      if (bytes > bytesAtOnceMax && count > 0) break;
      if (frame.kind === 'output') this.#given = frame.sequence;
    }
    if (count === waiting.length) this.#waiting = [];
    else this.#waiting = waiting.slice(count);
    return count === waiting.length ? waiting : waiting.slice(0, count);
  }

  #encoded(frames: readonly StreamLinkFrame[]): Uint8Array | Promise<Uint8Array> {
    const { slices, keepAlives } = this.#parts;
    this.#isIdle = false;
    keepAlives.renew(this);
    const [first] = frames;
    const isLong = first !== undefined && payloadBytesOf(first) > bytesAtOnceMax;
    if (isLong) return slices.run(encodeEventSlices(frames), this.#owner, this.#signal);
    return encodeEvents(frames, this.#memo);
  }
}

function payloadBytesOf(frame: StreamLinkFrame): number {
  return frame.kind === 'output' ? (frame.payload?.length ?? 0) : 0;
}
