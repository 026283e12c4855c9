/** Conversations that a good client might have, and the same with something wrong in them. */
import { errorCode, frameFlag, frameType, readUint32BigEndian } from '@millrace/http2';
import {
  data,
  type Fields,
  frame,
  getFields,
  headers,
  hello,
  literalBlock,
  ping,
  postFields,
  reset,
  settings,
  windowUpdate,
} from '@millrace/http2/testing';
import { driveHttp2 } from './http2-target.ts';
import type { FuzzRandom } from './random.ts';

/** A client that keeps to the rules, as far as the server's announced windows allow it to speak. */
class Client {
  readonly #random: FuzzRandom;
  #nextId = 1;
  /** Streams whose request is not complete. */
  readonly #open: number[] = [];
  readonly requested: number[] = [];

  constructor(random: FuzzRandom) {
    this.#random = random;
  }

  say(): Buffer {
    const random = this.#random;
    const kind = random.below(10);
    if (kind <= 2 || this.#open.length === 0) return this.#request();
    const streamId = random.pick(this.#open);
    if (kind <= 5) return data(streamId, Buffer.alloc(random.below(2000), 'x'), this.#mayEnd(streamId));
    if (kind === 6) return this.#trailers(streamId);
    if (kind === 7) return windowUpdate(random.oneIn(2) ? 0 : streamId, 1 + random.below(10_000));
    if (kind === 8) return random.oneIn(3) ? this.#reset(streamId) : ping();
    return random.oneIn(2)
      ? settings([4, 20_000 + random.below(60_000)], [1, random.below(5000)])
      : frame(frameType.priority, 0, streamId, Buffer.of(0, 0, 0, 0, 16));
  }

  /** Whatever is open, ended. */
  finish(): Buffer {
    return Buffer.concat(this.#open.splice(0).map((streamId) => data(streamId, 'end', true)));
  }

  #request(): Buffer {
    const random = this.#random;
    const streamId = this.#nextId;
    this.#nextId += random.oneIn(10) ? 4 : 2;
    this.requested.push(streamId);
    const isEnd = random.oneIn(3);
    if (!isEnd) this.#open.push(streamId);
    const fields: Fields = [...(isEnd ? getFields : postFields), ['x-n', String(streamId)], ['te', 'trailers']];
    if (!random.oneIn(4)) return headers(streamId, fields, isEnd);
    const block = literalBlock(fields);
    const at = random.below(block.length);
    return Buffer.concat([
      frame(frameType.headers, isEnd ? frameFlag.endStream : 0, streamId, block.subarray(0, at)),
      frame(frameType.continuation, frameFlag.endHeaders, streamId, block.subarray(at)),
    ]);
  }

  #mayEnd(streamId: number): boolean {
    if (!this.#random.oneIn(3)) return false;
    this.#open.splice(this.#open.indexOf(streamId), 1);
    return true;
  }

  #trailers(streamId: number): Buffer {
    this.#open.splice(this.#open.indexOf(streamId), 1);
    return headers(streamId, [['x-trailer', 'yes']], true);
  }

  #reset(streamId: number): Buffer {
    this.#open.splice(this.#open.indexOf(streamId), 1);
    this.requested.splice(this.requested.indexOf(streamId), 1);
    return reset(streamId);
  }
}

export function fuzzStateful(random: FuzzRandom): void {
  const client = new Client(random);
  const parts: Buffer[] = [hello];
  for (let count = 2 + random.below(14); count > 0; count--) parts.push(client.say());
  parts.push(client.finish());
  const isLegal = random.oneIn(2);
  if (!isLegal) {
    const at = 1 + random.below(parts.length - 1);
    const kind = random.below(4);
    if (kind === 0) parts[at] = random.mutate(parts[at] as Buffer);
    else if (kind === 1) parts.splice(at, 1);
    else if (kind === 2) parts.splice(at, 0, parts[1 + random.below(parts.length - 1)] as Buffer);
    else parts.splice(at, 0, random.bytes(random.below(30)));
  }
  const input = Buffer.concat(parts);
  const { frames, isStopped } = driveHttp2(random, random.cut(input), input.length);
  if (!isLegal) return;
  if (isStopped) {
    const goaway = frames.find((one) => one.type === frameType.goaway);
    const code = goaway === undefined ? -1 : readUint32BigEndian(goaway.payload, 4);
    // A client that pings a lot is legal and still told off.
    if (code !== errorCode.enhanceYourCalm) throw new Error(`a legal conversation ended with code ${code}`);
    return;
  }
  const heard = new Set(frames.map((one) => one.streamId));
  for (const streamId of client.requested) {
    if (!heard.has(streamId)) throw new Error(`stream ${streamId} was never answered`);
  }
}
