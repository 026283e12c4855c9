/**
 * Requests with large bodies of mixed sizes, over REST and gRPC at once, each with bytes of its own, to a model that answers
 * with what it was sent. Some callers die: within their body, before they read the answer, or within it. Over gRPC some of them
 * take their connection with them, and some only reset their stream.
 */
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
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

/** No two requests have the same bytes, and no two places of one that are far apart. */
function contentOf(size: number, number: number): Buffer {
  const content = Buffer.alloc(size);
  const row = Buffer.alloc(256);
  for (let at = 0; at < row.length; at++) row[at] = (number * 31 + at * 7 + (at >> 3)) & 255;
  for (let at = 0; at < size; at += row.length) {
    row.writeUInt32LE(number, 0);
    row.writeUInt32LE(at, 4);
    row.copy(content, at, 0, Math.min(row.length, size - at));
  }
  return content;
}

export async function loadLargeBodies(target: LargeBodyTarget, options: LargeBodyOptions): Promise<LargeBodyReport> {
  const random = randomFrom(options.seed);
  const report: LargeBodyReport = { answered: 0, died: 0, wrong: [] };
  const agent = new Agent({ keepAlive: true, maxSockets: options.callers });
  let next = 0;
  const caller = async (): Promise<void> => {
    let session: ClientHttp2Session | undefined;
    while (next < options.requests) {
      const number = next++;
      const size = sizeFrom(options.sizes, random());
      const isDying = random() * options.dyingOneOf < 1;
      const death = isDying ? deathFrom(random) : undefined;
      const content = contentOf(size, options.seed * 1_000_003 + number);
      let answer: Buffer | string;
      if (random() < (options.restShare ?? 0.5)) answer = await overRest(target, agent, content, death);
      else {
        if (session === undefined || session.closed || session.destroyed) session = await openSession(target);
        answer = await overGrpc(target, session, content, death);
        if (isDying && random() < 0.5) session.destroy();
      }
      if (isDying) report.died++;
      else if (typeof answer === 'string') report.wrong.push(`request ${number} of ${size} bytes: ${answer}`);
      else if (!answer.equals(content)) report.wrong.push(`request ${number} of ${size} bytes: other bytes came back`);
      else report.answered++;
    }
    session?.destroy();
  };
  await Promise.all(Array.from({ length: options.callers }, caller));
  agent.destroy();
  return report;
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

/** The output, or what went wrong. */
async function overRest(
  { url, model }: LargeBodyTarget,
  agent: Agent,
  content: Buffer,
  death: Death | undefined,
): Promise<Buffer | string> {
  const shape = [1, content.length];
  const json = JSON.stringify({
    inputs: [{ name: 'INPUT0', datatype: 'UINT8', shape, parameters: { binary_data_size: content.length } }],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(json), content]);
  const call = httpRequest(`${url}/v2/models/${model}/infer`, {
    method: 'POST',
    // A caller that dies takes its connection with it.
    agent: death === undefined ? agent : false,
    headers: { 'inference-header-content-length': String(json.length), 'content-length': String(body.length) },
  });
  if (death !== undefined) {
    call.on('error', () => {});
    const sent = typeof death === 'number' ? Math.floor(death * body.length) : body.length;
    await new Promise<void>((resolve) => call.write(body.subarray(0, sent), () => resolve()));
    if (death === 'within answer') await firstOf(once(call, 'response').then(([response]) => once(response, 'data')));
    call.destroy();
    return 'died';
  }
  call.end(body);
  try {
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const answer = Buffer.concat((await response.toArray()) as Buffer[]);
    if (response.statusCode !== 200) return `${response.statusCode} ${answer.toString('latin1', 0, 300)}`;
    return answer.subarray(Number(response.headers['inference-header-content-length']));
  } catch (error) {
    return String(error);
  }
}

/** Whether it comes or fails: the caller dies either way. */
async function firstOf(arrival: Promise<unknown>): Promise<void> {
  await arrival.catch(() => {});
}

async function overGrpc(
  { model }: LargeBodyTarget,
  session: ClientHttp2Session,
  content: Buffer,
  death: Death | undefined,
): Promise<Buffer | string> {
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
    return 'died';
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
    // The raw output is the last field of the message.
    return status === '0' || status === undefined
      ? answer.subarray(answer.length - content.length)
      : `status ${status}`;
  } catch (error) {
    return String(error);
  }
}
