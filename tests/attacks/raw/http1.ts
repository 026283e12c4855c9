/** HTTP/1.1 for attackers: sends any bytes, and reads of an answer only what its name needs. */
import type { Socket } from 'node:net';
import type { Target } from '../target.ts';

export interface Http1Answer {
  readonly status: number;
  readonly head: string;
  readonly bodyBytes: number;
  /** The beginning of the body. */
  readonly text: string;
}

export function requestHead(
  target: Target,
  method: string,
  path: string,
  fields: Readonly<Record<string, string | number>> = {},
  port: number = target.location.ports.http,
): string {
  const all = { host: `${target.host}:${port}`, ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

const textBytesMax = 4096;
const headBytesMax = 65_536;

/** Reads the answers on a connection and counts them by name; `next` returns a whole answer. */
export class Http1Answers {
  readonly #target: Target;
  #held = Buffer.alloc(0);
  #awaited: ((answer: Http1Answer | undefined) => void)[] = [];
  #ready: Http1Answer[] = [];
  #current:
    | { status: number; head: string; length: number; isUntilClose: boolean; taken: number; text: string }
    | undefined;
  #isClosed: boolean = false;
  receivedBytes = 0;

  constructor(target: Target, socket: Socket) {
    this.#target = target;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.once('close', () => this.#close());
  }

  /** Undefined when the connection ended before it. */
  next(): Promise<Http1Answer | undefined> {
    const ready = this.#ready.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#awaited.push(resolve));
  }

  #read(bytes: Buffer): void {
    this.receivedBytes += bytes.length;
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#current === undefined) {
        this.#held = Buffer.concat([this.#held, rest]);
        const end = this.#held.indexOf('\r\n\r\n');
        if (end < 0) {
          if (this.#held.length > headBytesMax) this.#held = Buffer.alloc(0);
          return;
        }
        const head = this.#held.toString('latin1', 0, end);
        rest = this.#held.subarray(end + 4);
        this.#held = Buffer.alloc(0);
        const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
        if (status === 100) continue;
        const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
        this.#current = {
          ...{ status, head, length: Number(length ?? 0), taken: 0, text: '' },
          isUntilClose: /\r\ntransfer-encoding:/i.test(head),
        };
      }
      const now = this.#current;
      const part = now.isUntilClose ? rest : rest.subarray(0, now.length - now.taken);
      if (now.text.length < textBytesMax) now.text += part.toString('latin1', 0, textBytesMax);
      now.taken += part.length;
      rest = rest.subarray(part.length);
      const isChunksEnd = now.isUntilClose && part.toString('latin1', Math.max(0, part.length - 5)) === '0\r\n\r\n';
      if (isChunksEnd || (!now.isUntilClose && now.taken === now.length)) this.#finish();
      else if (rest.length === 0) return;
    }
    if (this.#current !== undefined && !this.#current.isUntilClose && this.#current.length === 0) this.#finish();
  }

  #finish(): void {
    const now = this.#current;
    if (now === undefined) return;
    this.#current = undefined;
    const answer = { status: now.status, head: now.head, bodyBytes: now.taken, text: now.text };
    if (now.status < 400) this.#target.fate.answered++;
    else this.#target.fate.refused(refusalName(now.status, now.head));
    const waiting = this.#awaited.shift();
    if (waiting === undefined) this.#ready.push(answer);
    else waiting(answer);
    if (this.#ready.length > 100) this.#ready.shift();
  }

  #close(): void {
    this.#isClosed = true;
    if (this.#current?.isUntilClose === true) this.#finish();
    for (const waiting of this.#awaited.splice(0)) waiting(undefined);
  }
}

function refusalName(status: number, head: string): string {
  return /\r\nmillrace-error-code: *([\w-]+)/i.exec(head)?.[1] ?? String(status);
}

/** One request on a connection of its own, read to its end. */
export async function oneAnswer(
  target: Target,
  bytes: string | Uint8Array,
  port: number = target.location.ports.http,
): Promise<Http1Answer | undefined> {
  const socket = await target.dial(port);
  if (socket === undefined) return undefined;
  const answers = new Http1Answers(target, socket);
  socket.write(bytes);
  const answer = await answers.next();
  target.hangUp(socket);
  return answer;
}

export function rawJsonRequest(
  target: Target,
  path: string,
  body: string | Uint8Array,
  fields: Readonly<Record<string, string | number>> = {},
): Buffer {
  const bytes = Buffer.from(body as string);
  const all = { 'content-type': 'application/json', 'content-length': bytes.length, ...fields };
  return Buffer.concat([Buffer.from(requestHead(target, 'POST', path, all)), bytes]);
}
