/**
 * Opens durable streams and leaves them idle, many on each gRPC connection, which sends a keep-alive from time to time.
 * Prints one line when all are open and keeps them until SIGTERM.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { echoModel, openBody, openedFrameTag, streamPath } from '../stream-messages.ts';
import { EnvelopeCounter } from './envelope-counter.ts';
import { FrameConnection } from './frame-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    connections: { type: 'string' },
    /** On each connection. */
    streams: { type: 'string' },
    keepAliveSeconds: { type: 'string' },
  },
});
const streams = Number(values.streams);

async function open(): Promise<FrameConnection> {
  const counters = new Map<number, EnvelopeCounter>();
  let waiting = streams;
  return new Promise((resolve) => {
    const onFrame = (tag: number): void => {
      if (tag !== openedFrameTag) throw new Error(`an idle stream was sent a frame with the tag ${tag}`);
      waiting -= 1;
      if (waiting === 0) resolve(connection);
    };
    const connection = new FrameConnection(Number(values.port), streamPath, openBody(echoModel), {
      onData: (id, length, bytes, at) => counters.get(id)?.push(bytes, at, at + length),
      onEnd: () => {
        throw new Error('a stream ended that should be open');
      },
    });
    for (let index = 0; index < streams; index++) counters.set(connection.call(true), new EnvelopeCounter(onFrame));
  });
}

for (let left = Number(values.connections); left > 0; left--) {
  const connection = await open();
  setInterval(() => connection.ping(), Number(values.keepAliveSeconds) * 1000);
}
process.stdout.write('open\n');
await once(process, 'SIGTERM');
process.exit(0);
