/**
 * Opens connections and leaves them idle: each has had one call answered, or has streams that are open and silent after
 * a first chunk. Prints one line when all are open and keeps them until SIGTERM.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { checkBody, checkPath, chunksBody, chunksPath } from '../grpc-messages.ts';
import { FrameConnection } from './frame-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    connections: { type: 'string' },
    /** Open streams of each connection; 0: one finished call instead. */
    streams: { type: 'string' },
  },
});
const port = Number(values.port);
const streams = Number(values.streams);

/** So that no listen backlog overflows. */
const openingMax = 64;

async function open(): Promise<void> {
  await new Promise<void>((resolve) => {
    const path = streams === 0 ? checkPath : chunksPath;
    const body = streams === 0 ? checkBody() : chunksBody(1, 8, true);
    let waiting = Math.max(1, streams);
    const connection = new FrameConnection(port, path, body, {
      onData: () => {
        waiting -= 1;
        if (waiting === 0) resolve();
      },
      onEnd: (_, isReset) => {
        if (isReset || streams > 0) throw new Error('a stream ended that should be open');
      },
    });
    for (let index = 0; index < Math.max(1, streams); index++) connection.call();
  });
}

for (let left = Number(values.connections); left > 0; left -= openingMax)
  await Promise.all(Array.from({ length: Math.min(left, openingMax) }, open));
process.stdout.write('open\n');
await once(process, 'SIGTERM');
process.exit(0);
