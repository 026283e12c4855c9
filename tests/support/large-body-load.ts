/**
 * Requests with large bodies of mixed sizes, over REST and gRPC at once, each with bytes of its own, to a model that answers
 * with what it was sent. Some callers die: within their body, before they read the answer, or within it. Over gRPC some of them
 * take their connection with them, and some only reset their stream.
 */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { envelope, inferMessage, inferMethod } from '../attacks/raw/infer-message.ts';

export interface LargeBodyTarget {
  readonly url: string;
  readonly grpcUrl: string;
  /** Takes INPUT0 and gives OUTPUT0, UINT8 in rows of any length. */
  readonly model: string;
}

export interface LargeBodyOptions {
  readonly seed: number;
  readonly requests: number;
  /** One of these, or any size from the least to the most. */
  readonly sizes: readonly number[] | { readonly least: number; readonly most: number };
  /** Requests at a time. */
  readonly callers: number;
  /** One of so many callers dies; Infinity: none. */
  readonly dyingOneOf: number;
  /** The part of the requests that go over REST, the others over gRPC; 0.5 unless given. */
  readonly restShare?: number;
}

export interface LargeBodyReport {
  answered: number;
  died: number;
  /** What was wrong with an answer; none is expected. */
  readonly wrong: string[];
}

/** How far a caller that dies gets: a share of its body, or all of it without reading the answer, or the beginning of that. */
type Death = number | 'unread' | 'within answer';

function deathFrom(random: () => number): Death {
  const kind = random();
  return kind < 0.2 ? 'unread' : kind < 0.4 ? 'within answer' : random();
}

const cancelCode = 8;

/** Numbers that follow from the seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const stampEvery = 1024;

/** Writes what no other request has: its number at many places, with the place beside it. */
function stamp(content: Buffer, number: number): void {
  for (let at = 0; at + 8 <= content.length; at += stampEvery) {
    content.writeUInt32LE(number >>> 0, at);
    content.writeUInt32LE(at, at + 4);
  }
}

/** What is between the stamps of a caller. */
function patternOf(size: number, caller: number): Buffer {
  const pattern = Buffer.alloc(size);
  for (let at = 0; at < size; at++) pattern[at] = (caller * 31 + at * 7 + (at >> 3)) & 255;
  return pattern;
}

export async function loadLargeBodies(target: LargeBodyTarget, options: LargeBodyOptions): Promise<LargeBodyReport> {
  const random = randomFrom(options.seed);
  const report: LargeBodyReport = { answered: 0, died: 0, wrong: [] };
  let next = 0;
  const caller = async (index: number): Promise<void> => {
    let session: ClientHttp2Session | undefined;
    let rest: RestConnection | undefined;
    const pattern = patternOf(mostOf(options.sizes), index);
    while (next < options.requests) {
      const number = next++;
      const size = sizeFrom(options.sizes, random());
      const isDying = random() * options.dyingOneOf < 1;
      const death = isDying ? deathFrom(random) : undefined;
      const content = pattern.subarray(0, size);
      stamp(content, options.seed * 1_000_003 + number);
      let problem: string | undefined;
      if (random() < (options.restShare ?? 0.5)) {
        // What a caller that has died leaves behind may still be read from its memory.
        if (death !== undefined) await dieOverRest(target, Buffer.from(content), death);
        else {
          if (rest === undefined || rest.isClosed) rest = await RestConnection.open(target);
          problem = await rest.call(content);
        }
      } else {
        if (session === undefined || session.closed || session.destroyed) session = await openSession(target);
        problem = await overGrpc(target, session, content, death);
        if (isDying && random() < 0.5) session.destroy();
      }
      if (isDying) report.died++;
      else if (problem !== undefined) report.wrong.push(`request ${number} of ${size} bytes: ${problem}`);
      else report.answered++;
    }
    session?.destroy();
    rest?.close();
  };
  await Promise.all(Array.from({ length: options.callers }, (_, index) => caller(index)));
  return report;
}

const otherBytes = 'other bytes came back';

function mostOf(sizes: LargeBodyOptions['sizes']): number {
  return 'least' in sizes ? sizes.most : Math.max(...sizes);
}

function sizeFrom(sizes: LargeBodyOptions['sizes'], share: number): number {
  if ('least' in sizes) return sizes.least + Math.floor(share * (sizes.most - sizes.least + 1));
  return sizes[Math.floor(share * sizes.length)] as number;
}

async function openSession({ grpcUrl }: LargeBodyTarget): Promise<ClientHttp2Session> {
  const session = connect(grpcUrl, { maxSessionMemory: 1000, settings: { initialWindowSize: 2 ** 24 } });
  session.on('error', () => {});
  await once(session, 'connect');
  session.setLocalWindowSize(2 ** 24);
  return session;
}

function restHead({ url, model }: LargeBodyTarget, size: number): { readonly head: string; readonly json: string } {
  const input = { name: 'INPUT0', datatype: 'UINT8', shape: [1, size], parameters: { binary_data_size: size } };
  const json = JSON.stringify({ inputs: [input], parameters: { binary_data_output: true } });
  const fields = [
    `POST /v2/models/${model}/infer HTTP/1.1`,
    `host: ${new URL(url).host}`,
    `inference-header-content-length: ${json.length}`,
    `content-length: ${json.length + size}`,
  ];
  return { head: `${fields.join('\r\n')}\r\n\r\n`, json };
}

/** One request after the other. Answers are compared as they come, so that the load costs less than the server. */
class RestConnection {
  readonly #target: LargeBodyTarget;
  readonly #socket: Socket;
  #answered: ((problem: string | undefined) => void) | undefined;
  #expected: Buffer = Buffer.alloc(0);
  #head: Buffer | undefined = Buffer.alloc(0);
  /** Bytes of the answer's JSON that are to come, and of the output that came. */
  #jsonBytes = 0;
  #at = 0;
  #problem: string | undefined;

  private constructor(target: LargeBodyTarget, socket: Socket) {
    this.#target = target;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => {});
    socket.on('close', () => this.#end('the connection was closed'));
  }

  static async open(target: LargeBodyTarget): Promise<RestConnection> {
    const { hostname, port } = new URL(target.url);
    const socket = connectSocket(Number(port), hostname);
    await once(socket, 'connect');
    return new RestConnection(target, socket);
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** What went wrong; undefined: the content came back. */
  call(content: Buffer): Promise<string | undefined> {
    const { head, json } = restHead(this.#target, content.length);
    this.#expected = content;
    this.#head = Buffer.alloc(0);
    this.#at = 0;
    this.#problem = undefined;
    this.#socket.write(head + json);
    this.#socket.write(content);
    return new Promise((resolve) => {
      this.#answered = resolve;
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(problem: string | undefined): void {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(problem);
  }

  #read(bytes: Buffer): void {
    if (this.#head === undefined) {
      this.#compare(bytes);
      return;
    }
    const head = Buffer.concat([this.#head, bytes]);
    const end = head.indexOf('\r\n\r\n');
    this.#head = head;
    if (end < 0) return;
    this.#head = undefined;
    const text = head.toString('latin1', 0, end);
    this.#jsonBytes = Number(/^inference-header-content-length: *(\d+)/im.exec(text)?.[1]);
    const isWhole = text.startsWith('HTTP/1.1 200 ') && this.#jsonBytes > 0;
    if (!isWhole) {
      this.#end(head.toString('latin1', 0, 600));
      this.#socket.destroy();
    } else this.#compare(head.subarray(end + 4));
  }

  #compare(bytes: Buffer): void {
    const skipped = Math.min(this.#jsonBytes, bytes.length);
    this.#jsonBytes -= skipped;
    const expected = this.#expected;
    const count = bytes.length - skipped;
    const isSame =
      this.#at + count <= expected.length &&
      expected.compare(bytes, skipped, bytes.length, this.#at, this.#at + count) === 0;
    if (!isSame) this.#problem = otherBytes;
    this.#at += count;
    if (this.#at >= expected.length) this.#end(this.#problem);
  }
}

/** The caller takes its connection with it. */
async function dieOverRest(target: LargeBodyTarget, content: Buffer, death: Death): Promise<void> {
  const { json } = restHead(target, content.length);
  const body = Buffer.concat([Buffer.from(json), content]);
  const call = httpRequest(`${target.url}/v2/models/${target.model}/infer`, {
    method: 'POST',
    agent: false,
    headers: { 'inference-header-content-length': String(json.length), 'content-length': String(body.length) },
  });
  call.on('error', () => {});
  const sent = typeof death === 'number' ? Math.floor(death * body.length) : body.length;
  await new Promise<void>((resolve) => call.write(body.subarray(0, sent), () => resolve()));
  if (death === 'within answer') await firstOf(once(call, 'response').then(([response]) => once(response, 'data')));
  call.destroy();
}

/** Whether it comes or fails: the caller dies either way. */
async function firstOf(arrival: Promise<unknown>): Promise<void> {
  await arrival.catch(() => {});
}

/** What went wrong; undefined: the content came back, or the caller has died. */
async function overGrpc(
  { model }: LargeBodyTarget,
  session: ClientHttp2Session,
  content: Buffer,
  death: Death | undefined,
): Promise<string | undefined> {
  const input = { name: 'INPUT0', datatype: 'UINT8', shape: [1, content.length] };
  const body = envelope(inferMessage({ model, inputs: [input], raw: [content] }));
  const headers = { ':method': 'POST', ':path': inferMethod, 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request(headers);
  if (death !== undefined) {
    stream.on('error', () => {});
    const sent = typeof death === 'number' ? Math.floor(death * body.length) : body.length;
    await new Promise<void>((resolve) => stream.write(body.subarray(0, sent), () => resolve()));
    if (death === 'within answer') {
      stream.end();
      await firstOf(once(stream, 'data'));
    }
    stream.close(cancelCode);
    return undefined;
  }
  let status: unknown;
  stream.once('trailers', (fields) => {
    status = fields['grpc-status'];
  });
  stream.once('response', (fields) => {
    status ??= fields['grpc-status'];
  });
  stream.end(body);
  try {
    const answer = Buffer.concat((await stream.toArray()) as Buffer[]);
    if (status !== '0' && status !== undefined) return `status ${status}`;
    // The raw output is the last field of the message.
    return answer.subarray(answer.length - content.length).equals(content) ? undefined : otherBytes;
  } catch (error) {
    return String(error);
  }
}
