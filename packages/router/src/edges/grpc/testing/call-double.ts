/** A streaming call controlled by a test: what was sent, whether there is room, how it ended. */
import { type RequestListener, RpcError } from '@millrace/http';
import { Cancellation } from '@millrace/protocol';
import type { StreamResponse } from '../encode-stream-response.ts';
import type { StreamedMessage, StreamedRequests, StreamInferCall } from '../stream-infer.ts';

const messageBytes = 100;

export class RequestsDouble implements StreamedRequests {
  isPaused: boolean = false;
  /** Of messages whose memory is still needed. */
  keptBytes = 0;
  #listener: RequestListener<StreamedMessage> | undefined;

  listen(listener: RequestListener<StreamedMessage>): void {
    this.#listener = listener;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  push(message: StreamedMessage): void {
    if (this.isPaused) throw new Error('a message was taken from a paused stream');
    this.keptBytes += messageBytes;
    this.#listener?.onMessage(message, messageBytes);
  }

  done(bytes: number): void {
    this.keptBytes -= bytes;
  }

  end(): void {
    this.#listener?.onEnd();
  }
}

export class CallDouble implements StreamInferCall {
  readonly metadata: StreamInferCall['metadata'];
  readonly peer = { address: '10.0.0.7', port: 1, isEncrypted: false, owner: '10.0.0.7', isTrustedProxy: false };
  readonly cancellation = new Cancellation();
  readonly signal = this.cancellation;
  /** Bytes of answers that wait. */
  keptBytes = 0;
  hasRoomToKeep: (bytes: number) => boolean = () => true;
  readonly memory: StreamInferCall['memory'] = {
    hasRoomToKeep: (bytes) => this.hasRoomToKeep(bytes),
    count: (bytes) => {
      this.keptBytes += bytes;
    },
    give: (bytes) => {
      this.keptBytes -= bytes;
    },
  };
  readonly sent: StreamResponse[] = [];
  readonly releases: (() => void)[] = [];
  hasRoom = true;
  isStarted = false;
  /** 'ended', or why it failed; undefined while it lasts. */
  ending: string | undefined;
  onRoom: (() => void) | undefined = undefined;
  readonly #listeners: ((error: RpcError | undefined) => void)[] = [];

  constructor(metadata: Readonly<Record<string, string>> = {}) {
    this.metadata = {
      get: (name) => metadata[name],
      getAll: (name) => (metadata[name] === undefined ? [] : [metadata[name]]),
    };
  }

  start(): void {
    this.isStarted = true;
  }

  send(message: StreamResponse, release?: () => void): boolean {
    if (this.ending !== undefined) throw new Error('a message was sent after the end of the call');
    this.sent.push(message);
    if (release !== undefined) this.releases.push(release);
    return this.hasRoom;
  }

  end(): void {
    this.#over('ended', undefined);
  }

  fail(error: unknown): void {
    const failure = error instanceof RpcError ? error : new RpcError('internal', (error as Error).message);
    this.#over(failure.message, failure);
  }

  whenEnded(listener: (error: RpcError | undefined) => void): void {
    this.#listeners.push(listener);
  }

  /** As in real calls, `onRoom` is called once and must be set again. */
  gainRoom(): void {
    this.hasRoom = true;
    const { onRoom } = this;
    this.onRoom = undefined;
    onRoom?.();
  }

  /** What was sent, as texts: ids of answers, `id!message` of refusals. */
  get texts(): readonly string[] {
    return this.sent.map(({ errorMessage, response }) =>
      errorMessage === '' ? response.id : `${response.id}!${errorMessage}`,
    );
  }

  #over(ending: string, error: RpcError | undefined): void {
    if (this.ending !== undefined) return;
    this.ending = ending;
    for (const listener of this.#listeners) listener(error);
  }
}
