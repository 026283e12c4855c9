/** One fuzzed HTTP/2 connection, and its invariants for any input. */
import { Http2Connection, MemoryHost, MemoryTransport } from '@millrace/http/internal';
import { frameType } from '@millrace/http2';
import { type Frame, framesFrom } from '@millrace/http2/testing';
import { applications } from './applications.ts';
import type { FuzzRandom } from './random.ts';

const allowedTypes: ReadonlySet<number> = new Set([
  frameType.data,
  frameType.headers,
  frameType.rstStream,
  frameType.settings,
  frameType.ping,
  frameType.goaway,
  frameType.windowUpdate,
  frameType.continuation,
]);

/** What input may make us say beyond itself: whole answers, the largest of which has 70,000 bytes. */
const answerBytesMax = 160_000;
const requestBytesMin = 12;

export interface Http2Conversation {
  readonly frames: readonly Frame[];
  readonly isStopped: boolean;
}

export function driveHttp2(random: FuzzRandom, chunks: readonly Buffer[], inputBytes: number): Http2Conversation {
  const applied = applications(random);
  const host = new MemoryHost(applied.handler);
  const transport = new MemoryTransport();
  const connection = new Http2Connection(host, transport);
  let isStuckOnce = false;
  for (const chunk of chunks) {
    connection.receive(chunk);
    if (random.oneIn(3)) applied.wake();
    if (random.oneIn(50)) {
      transport.isStuck = true;
      isStuckOnce = true;
    }
    host.settle();
    if (connection.receiver.streams.size > host.limits.streamsMax) throw new Error('more streams than streamsMax');
  }
  if (isStuckOnce) {
    transport.unstick();
    connection.onWritable();
  }
  while (applied.wake()) host.settle();
  const isStopped = connection.isStopped;
  const limit = 1000 + inputBytes * 4 + Math.ceil(inputBytes / requestBytesMin) * answerBytesMax;
  if (transport.sentBytes > limit) throw new Error(`${transport.sentBytes} bytes out for ${inputBytes} in`);
  const frames = framesFrom(transport.take());
  for (const frame of frames) if (!allowedTypes.has(frame.type)) throw new Error(`a server sent type ${frame.type}`);
  connection.onClosed();
  while (applied.wake()) host.settle();
  if (connection.receiver.streams.size !== 0) throw new Error('streams are left after the end');
  if (connection.receiver.activeCount !== applied.open) {
    throw new Error(`${connection.receiver.activeCount} streams counted, ${applied.open} open`);
  }
  if (host.wheel.count !== 0) throw new Error('a timer is left after the end');
  return { frames, isStopped };
}
