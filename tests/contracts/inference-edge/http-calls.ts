/** Requests over HTTP/1.1 on kept connections, that a caller may abandon or leave unread. */
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { type FaceCall, type FaceOutcome, noAnswer, type UnreadAnswer } from './inference-face.ts';

export interface HttpQuestion {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class HttpCalls {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: string;
  readonly #outcomeFrom: (reply: HttpReply) => FaceOutcome;

  constructor(url: string, outcomeFrom: (reply: HttpReply) => FaceOutcome) {
    this.#url = url;
    this.#outcomeFrom = outcomeFrom;
  }

  call(question: HttpQuestion): FaceCall {
    const { response, hangUp } = this.#send(question);
    const outcome = response.then(
      (message) => this.#read(message),
      (error: Error) => ({ code: noAnswer, message: error.message }),
    );
    return { outcome, hangUp };
  }

  async callUnread(question: HttpQuestion): Promise<UnreadAnswer> {
    const message = await this.#send(question).response;
    return { read: () => this.#read(message) };
  }

  close(): void {
    this.#agent.destroy();
  }

  #send({ path, headers, body }: HttpQuestion): { response: Promise<IncomingMessage>; hangUp: () => void } {
    const sent = request(`${this.#url}${path}`, {
      method: 'POST',
      agent: this.#agent,
      headers: { ...headers, 'content-length': String(body.length) },
    });
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve);
      sent.once('error', reject);
    });
    sent.end(body);
    return { response, hangUp: () => sent.destroy() };
  }

  async #read(message: IncomingMessage): Promise<FaceOutcome> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of message) pieces.push(piece as Buffer);
    } catch (error) {
      return { code: noAnswer, message: String(error) };
    }
    return this.#outcomeFrom({
      status: message.statusCode ?? 0,
      headers: message.headers,
      body: Buffer.concat(pieces),
    });
  }
}
