/**
 * What a client says on a stream that it only listens to otherwise: inputs, acknowledgements and cancels as requests of their
 * own, one after the other. It also tells when enough outputs are on their way to the program.
 */
import type { AcceptedFrame, InputFrame, OpenFrame, StreamClientFrame } from '@millrace/protocol';
import { unreachable } from '../../errors/millrace-error.ts';
import { acceptedFromJson, inputJson } from '../../frames/frame-json.ts';
import type { AttemptContext } from '../transport.ts';
import { errorOfResponse, unreachableBy } from './fetch-calls.ts';

export interface StreamRequestOwner {
  onAccepted(frame: AcceptedFrame): void;
  onFailure(error: unknown): void;
}

export class StreamRequests {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #path: string;
  readonly #headers: AttemptContext['headers'];
  readonly #owner: StreamRequestOwner;
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
    headers: AttemptContext['headers'],
    owner: StreamRequestOwner,
  ) {
    this.#base = base;
    this.#fetch = fetchFunction;
    this.#path = `/v1/streams/${open.streamId}`;
    this.#headers = headers;
    this.#owner = owner;
    this.#creditMessages = open.outputCredit?.messages ?? Number.POSITIVE_INFINITY;
    this.#received = open.resumeAfter;
    this.#acknowledged = open.resumeAfter;
  }

  /**
   * Has the server say `accepted` where outputs come. That this request is answered tells nothing: its connection may work
   * while that of the outputs is dead. What is wrong with the stream is told to whoever connects again.
   */
  ping(frame: InputFrame): void {
    this.#enqueue(async () => {
      const answer = await this.#postInput(frame);
      await answer.body?.cancel();
      if (!answer.ok) throw unreachable(`a repeated input was answered with status ${answer.status}`, true);
    });
  }

  send(frame: StreamClientFrame): void {
    if (frame.kind === 'input') {
      this.#enqueue(async () => {
        const answer = await this.#postInput(frame);
        if (!answer.ok) throw await errorOfResponse(answer);
        const accepted = acceptedFromJson(await answer.text());
        if (!this.#isOver) this.#owner.onAccepted(accepted);
      });
    } else if (frame.kind === 'acknowledge') this.#acknowledge(frame.output);
    // What waits for its turn is of no use any more.
    else if (frame.kind === 'cancel') void this.#report(this.#must('DELETE', this.#path));
  }

  close(): void {
    this.#isOver = true;
    this.#controller.abort();
    this.#resume?.();
  }

  /** An output came. */
  onOutput(sequence: number): void {
    this.#received = Math.max(this.#received, sequence);
  }

  /** Resolves when more outputs may come: a response that is not read makes the server wait. */
  async room(): Promise<void> {
    while (this.#received - this.#acknowledged >= this.#creditMessages && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
  }

  async request(method: string, path: string, body?: object, more: Record<string, string> = {}): Promise<Response> {
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

  #acknowledge(output: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, output);
    this.#resume?.();
    const isQueued = this.#acknowledgeDue >= 0;
    this.#acknowledgeDue = output;
    if (isQueued) return;
    this.#enqueue(async () => {
      const due = this.#acknowledgeDue;
      this.#acknowledgeDue = -1;
      await this.#must('POST', `${this.#path}/acknowledge`, { output: due });
    });
  }

  #enqueue(task: () => Promise<void>): void {
    this.#sending = this.#report(this.#sending.then(() => (this.#isOver ? undefined : task())));
  }

  /** Tells what fails, and resolves in any case. */
  async #report(task: Promise<unknown>): Promise<void> {
    try {
      await task;
    } catch (error) {
      if (!this.#isOver) this.#owner.onFailure(error);
    }
  }

  #postInput(frame: InputFrame): Promise<Response> {
    return this.request('POST', `${this.#path}/inputs`, inputJson(frame));
  }

  async #must(method: string, path: string, body?: object): Promise<Response> {
    const answer = await this.request(method, path, body);
    if (!answer.ok) throw await errorOfResponse(answer);
    return answer;
  }
}
