/**
 * Streams over `fetch`: outputs are server-sent events in one response, and what the client says goes into requests of its
 * own.
 */
import type { InputFrame, OpenFrame, StreamClientFrame } from '@millrace/protocol';
import { isErrorCode, MillraceError, unreachable } from '../../errors/millrace-error.ts';
import { serverFrameFromJson } from '../../frames/frame-json.ts';
import { errorOfResponse } from '../fetch/fetch-calls.ts';
import { StreamRequests } from '../fetch/stream-requests.ts';
import type { AttemptContext, LinkListener, LinkTransport, TransportLink } from '../transport.ts';
import { type ServerEvent, ServerEventReader } from './event-reader.ts';

export class EventLinks implements LinkTransport {
  readonly #base: string;
  readonly #fetch: typeof fetch;

  constructor(url: URL, fetchFunction: typeof fetch) {
    this.#base = url.href.replace(/\/$/, '');
    this.#fetch = fetchFunction;
  }

  connect(open: OpenFrame, context: AttemptContext, listener: LinkListener): TransportLink {
    return new EventLink(this.#base, this.#fetch, open, context, listener);
  }

  close(): void {}
}

class EventLink implements TransportLink {
  readonly #open: OpenFrame;
  readonly #requests: StreamRequests;
  readonly #listener: LinkListener;
  #isOver: boolean = false;

  constructor(
    base: string,
    fetchFunction: typeof fetch,
    open: OpenFrame,
    context: AttemptContext,
    listener: LinkListener,
  ) {
    this.#open = open;
    this.#listener = listener;
    this.#requests = new StreamRequests(base, fetchFunction, open, context.headers, {
      onAccepted: (frame) => listener.onAccepted(frame),
      onFailure: (error) => this.#fail(error),
    });
    this.#listen().catch((error: unknown) => this.#fail(error));
  }

  readonly ping = (frame: InputFrame): void => this.#requests.ping(frame);

  send(frame: StreamClientFrame): void {
    this.#requests.send(frame);
  }

  close(): void {
    this.#isOver = true;
    this.#requests.close();
  }

  /** A stream that may not exist yet is opened by POST, which also resumes it; one that must exist is asked for by GET. */
  async #begin(): Promise<Response> {
    const { mode, streamId = '', context, parameters, resumeAfter, clientId = '', attempt = 0 } = this.#open;
    const more = { accept: 'text/event-stream', 'last-event-id': String(resumeAfter) };
    if (mode === 'resume') {
      const path = `/v1/streams/${streamId}?client_id=${clientId}&attempt=${attempt}`;
      return await this.#requests.request('GET', path, undefined, more);
    }
    const body = { context, parameters, stream_id: streamId, client_id: clientId, attempt };
    return await this.#requests.request('POST', '/v1/streams', body, more);
  }

  async #listen(): Promise<void> {
    const answer = await this.#begin();
    if (!answer.ok) throw await errorOfResponse(answer);
    if (answer.status === 204 || answer.body === null) throw unreachable('the server sent no events', true);
    const events = new ServerEventReader();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      await this.#requests.room();
      const { done, value } = await reader.read();
      if (this.#isOver) return;
      if (done) throw unreachable('the response ended before the stream did', true);
      this.#listener.onActivity();
      for (const event of events.read(value)) this.#take(event);
      if (this.#isOver) return;
    }
  }

  #take({ name, data }: ServerEvent): void {
    if (this.#isOver) return;
    if (name === 'error') {
      const { code = '', message = '' } = JSON.parse(data) as { code?: string; message?: string };
      throw new MillraceError(isErrorCode(code) ? code : 'unreachable', message);
    }
    const frame = serverFrameFromJson(name, data);
    if (frame === undefined) return;
    if (frame.kind === 'output') this.#requests.onOutput(frame.sequence);
    this.#listener.onFrame(frame);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.close();
    const lost = error instanceof MillraceError ? error : unreachable(String(error), true, error);
    this.#listener.onClose(lost);
  }
}
