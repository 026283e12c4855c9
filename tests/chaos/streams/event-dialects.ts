/** Server-sent events: one response carries the frames of the server, and requests of their own those of the client. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { errorCatalogue, type InputFrame, type OpenFrame } from '@millrace/protocol';
import { eventFrom, type ReceivedEvent } from '../../support/event-source.ts';
import type { DialectLink, DialectListener, StreamDialect } from './dialect.ts';
import { jsonInput, type ServerObject, serverFrameFrom } from './frame-codec.ts';

const path = '/v1/streams';
/** One for the events and two for what the client says: inputs may overtake each other. */
const connectionsMax = 3;

/** POST opens the stream and GET resumes it; inputs, acknowledgements and the cancellation are requests beside the events. */
export const events: StreamDialect = {
  name: 'sse',
  hasOneInput: false,
  connect(address, open, listener) {
    const link = new EventLink(address, open.streamId as string, listener);
    if (open.mode === 'resume') link.listen('GET', `${path}/${open.streamId}`, open.resumeAfter);
    else link.listen('POST', path, open.resumeAfter, bodyOf(open, undefined));
    return link;
  },
};

/** The POST has the only input, and is repeated with `Last-Event-ID` to resume. */
export const eventsOfOnePost: StreamDialect = {
  name: 'sse, one post',
  hasOneInput: true,
  connect(address, open, listener) {
    const link = new EventLink(address, open.streamId as string, listener);
    let hasBegun = false;
    return {
      send: (frame) => {
        if (frame.kind !== 'input') link.send(frame);
        else if (!hasBegun) {
          hasBegun = true;
          link.listen('POST', path, open.resumeAfter, bodyOf(open, frame));
        }
      },
      close: () => link.close(),
    };
  },
};

function bodyOf({ streamId, context, parameters }: OpenFrame, input: InputFrame | undefined): object {
  const given = input && jsonInput(input);
  return { stream_id: streamId, context, parameters, input: given, end_of_input: input?.endOfInput };
}

class EventLink implements DialectLink {
  readonly #host: string;
  readonly #port: string;
  readonly #streamPath: string;
  readonly #listener: DialectListener;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });
  #text = '';
  #isOver: boolean = false;

  constructor(address: string, streamId: string, listener: DialectListener) {
    [this.#host, this.#port] = address.split(':') as [string, string];
    this.#streamPath = `${path}/${streamId}`;
    this.#listener = listener;
  }

  listen(method: 'GET' | 'POST', url: string, resumeAfter: number, body?: object): void {
    const headers = { accept: 'text/event-stream', 'last-event-id': String(resumeAfter) };
    this.#request(method, url, headers, body, (response) => {
      if (response.statusCode !== 200) {
        this.#refused(response);
        return;
      }
      response.setEncoding('utf8');
      response.on('data', (piece: string) => this.#read(piece));
      response.on('close', () => this.#over('', 'the response ended'));
    });
  }

  send(frame: Parameters<DialectLink['send']>[0]): void {
    if (this.#isOver || frame.kind === 'open') return;
    if (frame.kind === 'cancel') this.#tell('DELETE', this.#streamPath);
    else if (frame.kind === 'input') this.#tell('POST', `${this.#streamPath}/inputs`, jsonInput(frame));
    else this.#tell('POST', `${this.#streamPath}/acknowledge`, { output: frame.output });
  }

  close(): void {
    this.#isOver = true;
    this.#agent.destroy();
  }

  /** What came of it is in the events: `accepted`, or `ended` where an input was refused because the stream has ended. */
  #tell(method: 'POST' | 'DELETE', url: string, body?: object): void {
    this.#request(method, url, {}, body, (response) => {
      const code = codeOf(response);
      if ((response.statusCode as number) < 300 || isFinal(code)) response.resume();
      else this.#refused(response);
    });
  }

  #request(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    body: object | undefined,
    onResponse: (response: IncomingMessage) => void,
  ): void {
    if (this.#isOver) return;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const described =
      bytes === undefined
        ? headers
        : { ...headers, 'content-type': 'application/json', 'content-length': bytes.length };
    const options = { host: this.#host, port: this.#port, method, path: url, agent: this.#agent, headers: described };
    const sent = request(options, (response) => {
      response.on('error', () => {});
      if (!this.#isOver) onResponse(response);
    });
    sent.on('error', (error) => this.#over('', error.message));
    sent.end(bytes);
  }

  #read(piece: string): void {
    this.#text += piece;
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      const event = eventFrom(this.#text.slice(0, end));
      this.#text = this.#text.slice(end + 2);
      if (event !== undefined && !this.#isOver) this.#hear(event);
    }
  }

  #hear({ name, id, data }: ReceivedEvent): void {
    if (name === 'error') {
      const { code, message } = data as { readonly code: string; readonly message: string };
      this.#over(code, message);
      return;
    }
    const frame = serverFrameFrom({ [name]: data } as ServerObject);
    const wanted = frame.kind === 'output' ? String(frame.sequence) : frame.kind === 'ended' ? 'end' : undefined;
    if (wanted !== undefined && id !== wanted) this.#over('wrong-event-id', `${name} has the id ${id}, not ${wanted}`);
    else this.#listener.onFrame(frame);
  }

  #refused(response: IncomingMessage): void {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (piece: string) => {
      text += piece;
    });
    response.on('close', () => this.#over(codeOf(response) || `status ${response.statusCode}`, text));
  }

  #over(code: string, message: string): void {
    if (this.#isOver) return;
    this.close();
    this.#listener.onClosed(code, message);
  }
}

function codeOf({ headers }: IncomingMessage): string {
  return (headers['millrace-error-code'] as string | undefined) ?? '';
}

function isFinal(code: string): boolean {
  return errorCatalogue[code as keyof typeof errorCatalogue]?.retry === 'never';
}
