/**
 * Server streams without end, so many at a time on one connection: chunks received a second. The size of every stream
 * is checked; the content of the chunks is checked by the scenario. Prints one JSON line.
 */
import { parseArgs } from 'node:util';
import { chunk, chunksBody, chunksPath } from '../grpc-messages.ts';
import { FrameConnection } from './frame-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    streams: { type: 'string' },
    seconds: { type: 'string' },
    /** Chunks of a stream, and bytes of data in each. */
    count: { type: 'string' },
    bytes: { type: 'string' },
  },
});
const count = Number(values.count);
const bytes = Number(values.bytes);
const data = Buffer.alloc(bytes);
let streamBytes = 0;
for (let number = 0; number < count; number++) streamBytes += 5 + chunk.encode({ number, data }).finish().length;

const begin = performance.now();
const end = begin + Number(values.seconds) * 1000;
const received = new Map<number, number>();
let receivedBytes = 0;
let wrong = 0;

const connection = new FrameConnection(Number(values.port), chunksPath, chunksBody(count, bytes), {
  onData: (streamId, dataBytes) => {
    received.set(streamId, (received.get(streamId) ?? 0) + dataBytes);
    receivedBytes += dataBytes;
  },
  onEnd: (streamId, isReset) => {
    if (isReset || received.get(streamId) !== streamBytes) wrong += 1;
    received.delete(streamId);
    const now = performance.now();
    if (now < end) {
      received.set(connection.call(), 0);
      return;
    }
    if (received.size > 0) return;
    const chunks = (receivedBytes / streamBytes) * count;
    process.stdout.write(`${JSON.stringify({ chunksPerSecond: (chunks * 1000) / (now - begin), chunks, wrong })}\n`);
    connection.socket.destroy();
  },
});
for (let index = 0; index < Number(values.streams); index++) received.set(connection.call(), 0);
