/**
 * Bodies in DATA frames, read by a socket that the test plays: whatever the frames are, and wherever reads end, every body has
 * its own bytes, and the answers are those of a connection that is given everything in one piece.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { frame, headers, hello, postFields, reset } from '@millrace/http2/testing';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { createRpcHandler } from '../rpc/handler.ts';
import { type PlaceMessage, unary } from '../rpc/service.ts';
import { BodyPool, type FramedSocketReads, poisonByte } from '../wire/body-pool.ts';
import { wireHandlerFrom } from '../wire/seam-handler.ts';
import { type InputTransport, SharedInput } from '../wire/shared-input.ts';
import { MemoryHost } from '../wire/testing/memory-host.ts';
import { MemoryTransport } from '../wire/testing/memory-transport.ts';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import { Http2Connection } from './connection.ts';

/** A frame of a type that has to be ignored. */
const unknownType = 0x42;
const dataFlag = { end: 1, padded: 8 };
const digestOf = (bytes: Uint8Array): string => createHash('sha1').update(bytes).digest('hex');

const inOrder = (digests: readonly string[]): string[] => [...digests].sort((one, other) => (one < other ? -1 : 1));

function bodyOf(size: number, seed: number): Buffer {
  const bytes = Buffer.alloc(size);
  let state = Math.imul(seed + 1, 2654435761);
  for (let at = 0; at < size; at++) {
    state = Math.imul(state, 1664525) + 1013904223;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

/** Memory like that of a worker: what is released is overwritten, and what other streams sent must not stay in it. */
class WorkerLike {
  lent = 0;
  readonly memories: Buffer[] = [];
  readonly place: PlaceMessage = () => ({ headBytes: 16, lend: (bytes) => this.#lend(bytes) });

  #lend(bytes: number): { bytes: Buffer; release(): void } {
    const memory = Buffer.alloc(bytes, 0xee);
    this.memories.push(memory);
    this.lent++;
    const release = (): void => {
      memory.fill(poisonByte);
      this.lent--;
    };
    return { bytes: memory, release };
  }
}

function digestService(worker: WorkerLike | undefined, seen: string[]) {
  const method = unary<readonly Uint8Array[], string>({
    name: 'Digest',
    request: { fromProto: (head, tail) => (tail === undefined ? [head] : [head, tail]) },
    response: { toProto: (text) => Buffer.from(text) },
    isRequestLent: true,
    ...(worker === undefined ? {} : { placeRequest: worker.place }),
    handle: (pieces, call) => {
      const digest = digestOf(Buffer.concat(pieces));
      seen.push(digest);
      call.releaseRequest();
      return digest;
    },
  });
  return createRpcHandler([{ name: 'test.Digests', methods: [method] }], {
    errorFrom: (error) => error as never,
    onRefused: () => {},
    onError: () => {},
    next: wireHandlerFrom(
      ({ body }) =>
        new Promise((resolve) => {
          body.lendAll(4_000_000, {
            onBody: (bytes, release) => {
              seen.push(digestOf(bytes));
              release();
              resolve({ status: 200, headers: [] });
            },
            onBodyFailed: () => resolve({ status: 400, headers: [] }),
          });
        }),
      () => {},
    ),
  });
}

const inside = { buffer: Symbol('kBuffer'), callback: Symbol('kBufferCb'), next: Symbol('kBufferGen') };

/** A socket as `SharedInput` knows it, and the kernel behind it: bytes that were sent, and how many of them have arrived. */
class PlayedSocket implements FramedSocketReads {
  readonly #sent: Buffer;
  #read = 0;
  arrived = 0;
  framedBytes = 0;
  user: Buffer = Buffer.alloc(0);
  readonly socket: Socket;

  constructor(sent: Buffer) {
    this.#sent = sent;
    const fields = { [inside.buffer]: null, [inside.callback]: null, [inside.next]: null };
    const useUserBuffer = (bytes: Buffer): void => {
      this.user = bytes;
    };
    this.socket = { ...fields, _handle: { useUserBuffer } } as unknown as Socket;
  }

  get isDone(): boolean {
    return this.#read === this.#sent.length;
  }

  get waiting(): number {
    return Math.min(this.arrived, this.#sent.length) - this.#read;
  }

  take(into: Uint8Array): number {
    const count = this.#sent.copy(into, 0, this.#read, this.#read + Math.min(into.length, this.waiting));
    this.#read += count;
    return count;
  }

  read(_descriptor: number, into: Uint8Array, first: number, next: number, heads: Uint8Array, head: number): number {
    let count = this.take(into.subarray(0, first));
    for (let at = first, headAt = 0; at < into.length && this.waiting > 0; at += next, headAt += head) {
      count += this.take(heads.subarray(headAt, headAt + head));
      count += this.take(into.subarray(at, at + next));
    }
    this.framedBytes += count;
    return count;
  }
}

/** Frames that are larger than the default, as a server may allow them, are read to their place without being expected. */
const limits = { frameBytesMax: 2 ** 20 };

/** A connection on a played socket, with all that it may hold. */
class PlayedConnection {
  readonly kernel: PlayedSocket;
  readonly worker = new WorkerLike();
  readonly memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
  readonly sweeps: (() => void)[] = [];
  readonly seen: string[] = [];
  readonly bodies: BodyPool;
  readonly connection: Http2Connection;
  readonly transport: InputTransport;
  readonly #host: MemoryHost;
  readonly #input: SharedInput;

  constructor(bytes: Buffer, isPlaced: boolean) {
    this.kernel = new PlayedSocket(bytes);
    const after = (_ms: number, callback: () => void): void => void this.sweeps.push(callback);
    this.bodies = new BodyPool({ isPoisoned: true, framedReads: this.kernel, after });
    const handler = digestService(isPlaced ? this.worker : undefined, this.seen);
    this.#host = new MemoryHost(handler, limits, { memory: this.memory, bodies: this.bodies });
    this.#input = new SharedInput(this.bodies);
    const wire = Object.assign(new MemoryTransport(), {
      retarget: (): void => this.#input.retarget(this.kernel.socket, this.transport),
    });
    this.connection = new Http2Connection(this.#host, wire);
    this.transport = { connection: this.connection, target: undefined, descriptor: 7 };
    expect(this.#input.attach(this.kernel.socket, () => {})).toBe(true);
  }

  /** So many bytes more arrive, and as much is read as the event loop reads in one go. */
  arrive(bytes: number): void {
    this.kernel.arrived += bytes;
    const count = this.kernel.take(this.kernel.user);
    if (count > 0) this.#input.pass(this.transport, count);
    const next = (this.kernel.socket as unknown as Record<symbol, () => Buffer | undefined>)[inside.next]?.();
    if (count > 0 && next !== undefined) this.kernel.user = next;
    this.#host.settle();
  }

  async end(): Promise<void> {
    await turns();
    this.#host.settle();
    SharedInput.detach(this.transport);
    this.connection.onClosed();
    await turns();
    const { worker, bodies, memory } = this;
    expect([worker.lent, bodies.lentBytes, bodies.placedBytes, memory.usedBytes]).toEqual([0, 0, 0, 0]);
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

interface Played {
  readonly seen: readonly string[];
  readonly framedBytes: number;
}

/** Plays the reads of a connection; `cuts` says how many bytes arrive before each, again and again. */
async function play(bytes: Buffer, cuts: readonly number[], isPlaced: boolean): Promise<Played> {
  const played = new PlayedConnection(bytes, isPlaced);
  for (let turn = 0; !played.kernel.isDone; turn++) played.arrive(cuts[turn % cuts.length] as number);
  await played.end();
  return { seen: inOrder(played.seen), framedBytes: played.kernel.framedBytes };
}

const grpcFields = [
  ...postFields.filter(([name]) => name !== ':path'),
  [':path', '/test.Digests/Digest'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
] as never;

interface SentBody {
  readonly size: number;
  /** Lengths of its frames, again and again; a negative one is padded. */
  readonly frames: readonly number[];
  readonly kind: 'grpc' | 'plain' | 'unknown length';
  /** Ends with an empty frame of its own, is cut off by a reset, or has frames of the connection between its own. */
  readonly ending: 'last' | 'empty' | 'reset';
  readonly othersEvery: number;
}

function framesOf(streamId: number, body: Buffer, sent: SentBody): Buffer[] {
  const length = ['content-length', String(body.length)] as const;
  const fields = sent.kind === 'grpc' ? grpcFields : sent.kind === 'plain' ? [...postFields, length] : postFields;
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  const content = sent.kind === 'grpc' ? Buffer.concat([prefix, body]) : body;
  const made = [headers(streamId, fields, false)];
  const end = sent.ending === 'reset' ? Math.floor(content.length * 0.6) : content.length;
  for (let at = 0, index = 0; at < end; index++) {
    const size = sent.frames[index % sent.frames.length] as number;
    const piece = content.subarray(at, Math.min(end, at + Math.abs(size)));
    at += piece.length;
    const flags = at === end && sent.ending === 'last' ? dataFlag.end : 0;
    if (size > 0) made.push(frame(0, flags, streamId, piece));
    else {
      const padding = index % 200;
      const padded = Buffer.concat([Buffer.of(padding), piece, Buffer.alloc(padding)]);
      made.push(frame(0, flags | dataFlag.padded, streamId, padded));
    }
    if (index % sent.othersEvery === sent.othersEvery - 1 && index < 40)
      made.push(frame(unknownType, 0, 0, Buffer.from('12345678')));
  }
  if (sent.ending === 'empty') made.push(frame(0, dataFlag.end, streamId));
  if (sent.ending === 'reset') made.push(reset(streamId));
  return made;
}

/** The frames of all bodies, some at a time of each in turn, in the order of each. */
function mixed(all: readonly (readonly Buffer[])[], runs: readonly number[]): Buffer {
  const queues = all.map((frames) => [...frames]);
  const out: Buffer[] = [hello];
  // Requests begin in the order of their numbers.
  for (const queue of queues) out.push(queue.shift() as Buffer);
  for (let turn = 0; queues.some((queue) => queue.length > 0); turn++) {
    const queue = queues[turn % queues.length] as Buffer[];
    out.push(...queue.splice(0, runs[turn % runs.length]));
  }
  return Buffer.concat(out);
}

const frameSizes = fc.oneof(
  fc.constant([16_384]),
  fc.constant([16_384, 16_384, 16_384, 9_000]),
  fc.constant([8_192]),
  fc.constant([100_000, 5_000]),
  fc.constant([400_000]),
  fc.array(fc.integer({ min: 1, max: 16_384 }), { minLength: 1, maxLength: 6 }),
  fc.array(fc.constantFrom(16_384, -16_000, -300, 12_000, 9), { minLength: 1, maxLength: 5 }),
);

const sentBody: fc.Arbitrary<SentBody> = fc.record({
  size: fc.oneof(fc.integer({ min: 66_000, max: 600_000 }), fc.integer({ min: 1, max: 70_000 })),
  frames: frameSizes,
  kind: fc.constantFrom('grpc', 'grpc', 'plain', 'unknown length'),
  ending: fc.constantFrom('last', 'last', 'empty', 'reset'),
  othersEvery: fc.constantFrom(1_000, 1_000, 7),
});

const cutSizes = fc.array(
  fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 2_000, max: 1_000_000 }), fc.constant(16_393)),
  { minLength: 1, maxLength: 6 },
);

/** What every connection must make of the frames: in one piece, without a socket. */
async function expectedOf(bytes: Buffer): Promise<readonly string[]> {
  const seen: string[] = [];
  const host = new MemoryHost(digestService(undefined, seen), limits);
  const connection = new Http2Connection(host, new MemoryTransport());
  connection.receive(bytes);
  host.settle();
  await turns();
  connection.onClosed();
  return inOrder(seen);
}

let framedBytes = 0;
afterEach(() => {
  framedBytes = 0;
});

test('all bytes are equal, whatever the frames, their order, and where reads end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sentBody, { minLength: 1, maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 }),
      cutSizes,
      fc.boolean(),
      fc.integer({ min: 0, max: 1000 }),
      async (sent, runs, cuts, isPlaced, seed) => {
        const bodies = sent.map(({ size }, index) => bodyOf(size, seed + index));
        const bytes = mixed(
          sent.map((one, index) => framesOf(1 + 2 * index, bodies[index] as Buffer, one)),
          runs,
        );
        // A byte at a time takes long, and more of them show nothing new.
        const coarse = cuts.every((cut) => cut < 500) ? [...cuts, 40_000] : cuts;
        const played = await play(bytes, coarse, isPlaced);
        framedBytes += played.framedBytes;
        expect(played.seen).toEqual(await expectedOf(bytes));
        const whole = bodies.filter((_, index) => sent[index]?.ending !== 'reset').map(digestOf);
        expect(played.seen).toEqual(expect.arrayContaining(whole));
      },
    ),
    { seed: 1, numRuns: 100 },
  );
  // Else nothing was tested.
  expect(framedBytes).toBeGreaterThan(1_000_000);
}, 60_000);

test.each(['grpc', 'plain'] as const)(
  'a body (%s) in frames of the same length is read to its place at once, but for its beginning',
  async (kind) => {
    const body = bodyOf(602_112, 9);
    const bytes = mixed([framesOf(1, body, { ...plainGrpc(body.length), kind })], [1]);
    const played = await play(bytes, [bytes.length], true);
    expect(played.seen).toEqual([digestOf(body)]);
    expect(played.framedBytes).toBeGreaterThan(body.length - 150_000);
  },
);

const plainGrpc = (size: number): SentBody => {
  return { size, frames: [16_384], kind: 'grpc', ending: 'last', othersEvery: 1_000 };
};

test('frames that are not as expected are sorted once for a body, and leave nothing where they were read to', async () => {
  const first = bodyOf(500_000, 3);
  const secret = Buffer.alloc(40_000, 's');
  // Another stream begins within the body, and more of it follows.
  const frames = framesOf(1, first, plainGrpc(first.length));
  const others = framesOf(3, secret, plainGrpc(secret.length));
  const bytes = Buffer.concat([hello, ...frames.slice(0, 9), ...others, ...frames.slice(9)]);
  const played = new PlayedConnection(bytes, true);
  played.arrive(bytes.length - 200_000);
  while (played.kernel.waiting > 0) played.arrive(0);
  expect(played.kernel.framedBytes).toBeGreaterThan(0);
  expect(played.seen).toEqual([digestOf(secret)]);
  expect(played.worker.memories.map((memory) => memory.includes('ssssssss'))).toEqual([false]);
  while (!played.kernel.isDone) played.arrive(bytes.length);
  expect(played.seen).toEqual([digestOf(secret), digestOf(first)]);
  await played.end();
});

/** A body of which the socket reads the rest to its place. */
function half(size: number): { played: PlayedConnection; body: Buffer } {
  const body = bodyOf(size, 5);
  const bytes = mixed([framesOf(1, body, plainGrpc(size))], [1]);
  const played = new PlayedConnection(bytes, true);
  played.arrive(Math.floor(size / 2));
  while (played.kernel.waiting > 0) played.arrive(0);
  expect([played.worker.lent, played.transport.target === undefined]).toEqual([1, false]);
  return { played, body };
}

test('a body that takes too long is moved away from under the socket that reads its frames', async () => {
  const { played, body } = half(600_000);
  for (const sweep of played.sweeps.splice(0)) sweep();
  expect(played.worker.lent).toBe(1);
  for (const sweep of played.sweeps.splice(0)) sweep();
  expect(played.worker.lent).toBe(0);
  while (!played.kernel.isDone) played.arrive(30_000);
  expect(played.seen).toEqual([digestOf(body)]);
  expect(played.worker.memories[0]?.every((byte) => byte === poisonByte)).toBe(true);
  await played.end();
});

test('a stream that ends within a frame does not pin the memory of a worker for what is left of the frame', async () => {
  const { played } = half(600_000);
  const stream = played.connection.receiver.streams.get(1);
  if (stream === undefined) throw new Error('the stream is gone');
  played.connection.resetStream(stream, 8, 'its time is over');
  for (let round = 0; round < 2; round++) for (const sweep of played.sweeps.splice(0)) sweep();
  expect(played.worker.lent).toBe(0);
  while (!played.kernel.isDone) played.arrive(30_000);
  expect(played.worker.memories[0]?.every((byte) => byte === poisonByte)).toBe(true);
  expect(played.seen).toEqual([]);
  await played.end();
});
