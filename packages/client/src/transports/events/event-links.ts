/**
 * Streams over `fetch`: outputs are server-sent events in one response, and what the client says goes into requests of its
 * own, one after the other.
 */
import type { OpenFrame, StreamClientFrame } from '@millrace/protocol';
import { isErrorCode, MillraceError, unreachable } from '../../errors/millrace-error.ts';
import { inputJson, serverFrameFromJson } from '../../frames/frame-json.ts';
import { errorOfResponse, unreachableBy } from '../fetch/fetch-calls.ts';
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
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #open: OpenFrame;
  readonly #headers: readonly (readonly [string, string])[];
  readonly #listener: LinkListener;
  readonly #controller = new AbortController();
  readonly #creditMessages: number;
  /** Requests are sent one after the other: inputs must not overtake each other. */
  #sending: Promise<void> = Promise.resolve();
  /** An acknowledgement that waits for its turn; a later one replaces it. */
  #acknowledgeDue = -1;
  #received: number;
  #acknowledged: number;
  #resume: (() => void) | undefined = undefined;
  #isOver: boolean = false;

  constructor(
    base: string,
    fetchFunction: typeof fetch,
    open: OpenFrame,
    context: AttemptContext,
    listener: LinkListener,
  ) {
    this.#base = base;
    this.#fetch = fetchFunction;
    this.#open = open;
    this.#headers = context.headers;
    this.#listener = listener;
    this.#creditMessages = open.outputCredit?.messages ?? Number.POSITIVE_INFINITY;
    this.#received = open.resumeAfter;
    this.#acknowledged = open.resumeAfter;
    this.#listen().catch((error: unknown) => this.#fail(error));
  }

  /** The server sends a comment every 15 s. Asking it costs a request, which tells as much. */
  readonly ping = (): void => {
    this.#enqueue(async () => {
      const answer = await this.#request('GET', '/v2/health/live');
      if (answer.ok) this.#listener.onActivity();
      await answer.body?.cancel();
    });
  };

  send(frame: StreamClientFrame): void {
    const path = `/v1/streams/${this.#open.streamId}`;
    if (frame.kind === 'input') {
      this.#enqueue(async () => {
        const answer = await this.#must('POST', `${path}/inputs`, inputJson(frame));
        const accepted = serverFrameFromJson('accepted', await answer.text());
        if (accepted !== undefined && !this.#isOver) this.#listener.onFrame(accepted);
      });
    } else if (frame.kind === 'acknowledge') this.#acknowledge(path, frame.output);
    else if (frame.kind === 'cancel') this.#enqueue(async () => void (await this.#must('DELETE', path)));
  }

  close(): void {
    this.#isOver = true;
    this.#controller.abort();
    this.#resume?.();
  }

  #acknowledge(path: string, output: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, output);
    this.#resume?.();
    const isQueued = this.#acknowledgeDue >= 0;
    this.#acknowledgeDue = output;
    if (isQueued) return;
    this.#enqueue(async () => {
      const due = this.#acknowledgeDue;
      this.#acknowledgeDue = -1;
      await this.#must('POST', `${path}/acknowledge`, { output: due });
    });
  }

  #enqueue(task: () => Promise<void>): void {
    this.#sending = this.#sending.then(() => (this.#isOver ? undefined : task())).catch((error) => this.#fail(error));
  }

  async #must(method: string, path: string, body?: object): Promise<Response> {
    const answer = await this.#request(method, path, body);
    if (!answer.ok) throw await errorOfResponse(answer);
    return answer;
  }

  async #request(method: string, path: string, body?: object, more: Record<string, string> = {}): Promise<Response> {
    const headers = { ...Object.fromEntries(this.#headers), ...more };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    try {
      const init = { method, headers: { ...type, ...headers }, signal: this.#controller.signal, ...json };
      return await this.#fetch(`${this.#base}${path}`, init);
    } catch (error) {
      throw unreachableBy(error, this.#base);
    }
  }

  /** A stream that may not exist yet is opened by POST, which also resumes it; one that must exist is asked for by GET. */
  async #begin(): Promise<Response> {
    const { mode, streamId = '', context, parameters, resumeAfter } = this.#open;
    const more = { accept: 'text/event-stream', 'last-event-id': String(resumeAfter) };
    if (mode === 'resume') return await this.#request('GET', `/v1/streams/${streamId}`, undefined, more);
    return await this.#request('POST', '/v1/streams', { context, parameters, stream_id: streamId }, more);
  }

  async #listen(): Promise<void> {
    const answer = await this.#begin();
    if (!answer.ok) throw await errorOfResponse(answer);
    if (answer.status === 204 || answer.body === null) throw unreachable('the server sent no events', true);
    const events = new ServerEventReader();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      // A response that is not read makes the server wait.
      while (this.#received - this.#acknowledged >= this.#creditMessages && !this.#isOver) {
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
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
    if (frame.kind === 'output') this.#received = Math.max(this.#received, frame.sequence);
    this.#listener.onFrame(frame);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.close();
    const lost = error instanceof MillraceError ? error : unreachable(String(error), true, error);
    this.#listener.onClose(lost);
  }
}
