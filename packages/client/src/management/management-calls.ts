/** One call of the management API by `fetch`. It is made once: whether a change may be repeated is the operator's to decide. */
import { headerSourceFrom } from '../calls/header-source.ts';
import type { ClientCallOptions, ClientOptions } from '../client.ts';
import { platformClock } from '../client-clock.ts';
import { MillraceError, unreachable, unreadableAnswer } from '../errors/millrace-error.ts';
import { errorOfResponse, unreachableBy } from '../transports/fetch/fetch-calls.ts';

export interface ManagedServerOptions {
  /** Sent with every call: credentials. A function is asked each time. */
  readonly headers?: NonNullable<ClientOptions['headers']>;
  /** Instead of the platform's: for a Unix socket, one that knows how to reach it. */
  readonly fetch?: typeof fetch;
}

export interface ManagementRequest {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** Below /v1/management, escaped. */
  readonly path: string;
  readonly body?: unknown;
  /** A change is refused as `conflict` when the revision is another by now. */
  readonly ifRevision?: number | undefined;
}

export class ManagementCalls {
  readonly #base: string;
  readonly #options: ManagedServerOptions;

  constructor(url: URL, options: ManagedServerOptions) {
    this.#base = url.href.replace(/\/$/, '');
    this.#options = options;
  }

  /** The JSON of the answer; undefined where it has none. */
  async run<Answer>(request: ManagementRequest, { deadlineMs, signal }: ClientCallOptions): Promise<Answer> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const stop = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', stop);
    const takeTimerBack =
      deadlineMs === undefined
        ? () => {}
        : platformClock.setTimer(deadlineMs, () => controller.abort(deadlineError(request, deadlineMs)));
    try {
      return (await this.#answerOf(request, controller.signal)) as Answer;
    } catch (error) {
      // Whatever it was that broke off: the reason is the one who asked for it.
      controller.signal.throwIfAborted();
      throw error;
    } finally {
      takeTimerBack();
      signal?.removeEventListener('abort', stop);
    }
  }

  async #answerOf({ method, path, body, ifRevision }: ManagementRequest, signal: AbortSignal): Promise<unknown> {
    const { headers, fetch: given } = this.#options;
    const own = await headerSourceFrom(headers)?.();
    const fields: [string, string][] = (own ?? []).map(([name, value]) => [name, value]);
    // Also where there is no body: without this type a server refuses it from browsers, also from its own pages.
    fields.push(['content-type', 'application/json']);
    if (ifRevision !== undefined) fields.push(['if-match', `"${ifRevision}"`]);
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const init: RequestInit = { method, headers: fields, signal, ...text };
    const url = `${this.#base}/v1/management${path}`;
    // Called as a plain function: browsers refuse theirs as a method of another object.
    const answer = await (given === undefined ? fetch(url, init) : given(url, init)).catch((error: unknown) => {
      throw unreachableBy(error, this.#base);
    });
    if (!answer.ok) throw named(await errorOfResponse(answer), this.#base);
    const answered = await answer.text().catch((error: unknown) => {
      throw unreachable(`the connection to ${this.#base} was lost while the answer arrived`, true, error);
    });
    if (answered === '') return undefined;
    try {
      return JSON.parse(answered);
    } catch (error) {
      throw unreadableAnswer((error as SyntaxError).message, error);
    }
  }
}

function named(error: MillraceError, endpoint: string): MillraceError {
  error.endpoint = endpoint;
  return error;
}

function deadlineError({ method, path }: ManagementRequest, deadlineMs: number): MillraceError {
  return new MillraceError('deadline-exceeded', `${method} ${path} was not answered within ${deadlineMs} ms`);
}
