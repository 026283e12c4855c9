/**
 * gRPC calls in a closed loop, a program of its own so that it can have a core of its own: N connections with M calls in flight
 * on each, all the same bytes. Prints one JSON line. A call that ends without a message counts as wrong.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { FrameConnection } from './frame-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    connections: { type: 'string' },
    /** Calls in flight on each connection. */
    streams: { type: 'string' },
    seconds: { type: 'string' },
    path: { type: 'string' },
    /** A file with the body of the call, its envelope included. */
    body: { type: 'string' },
  },
});
const body = readFileSync(values.body ?? '');
const begin = performance.now();
const end = begin + Number(values.seconds) * 1000;
let answered = 0;
let wrong = 0;

function runConnection(): Promise<void> {
  const withMessage = new Set<number>();
  let open = 0;
  return new Promise((resolve, reject) => {
    const connection = new FrameConnection(Number(values.port), values.path ?? '', body, {
      onData: (id) => withMessage.add(id),
      onEnd: (id, isReset) => {
        answered += 1;
        if (!withMessage.delete(id) || isReset) wrong += 1;
        open -= 1;
        if (performance.now() < end) call();
        else if (open === 0) {
          connection.socket.destroy();
          resolve();
        }
      },
    });
    connection.socket.once('error', reject);
    const call = (): void => {
      open += 1;
      connection.call();
    };
    for (let stream = 0; stream < Number(values.streams); stream++) call();
  });
}

await Promise.all(Array.from({ length: Number(values.connections) }, runConnection));
const requestsPerSecond = (answered * 1000) / (performance.now() - begin);
process.stdout.write(`${JSON.stringify({ requestsPerSecond, answered, wrong })}\n`);
