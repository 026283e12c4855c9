/** One caller, one request at a time on one connection, for so long. Prints its latencies as one JSON line, in microseconds. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { quantile } from '../statistics.ts';

const { values } = parseArgs({ options: { port: { type: 'string' }, seconds: { type: 'string' } } });
const socket = connect(Number(values.port), '127.0.0.1').setNoDelay(true);
await once(socket, 'connect');
const request = 'GET /v2/health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
const micros: number[] = [];
const endAt = performance.now() + Number(values.seconds) * 1000;
let sentAt = 0;
await new Promise<void>((resolve, reject) => {
  const send = (): void => {
    sentAt = performance.now();
    socket.write(request);
  };
  // An answer is far smaller than a packet: it comes in one piece.
  socket.on('data', () => {
    const now = performance.now();
    micros.push((now - sentAt) * 1000);
    if (now < endAt) send();
    else resolve();
  });
  socket.on('close', () => reject(new Error('the bystander was cut off')));
  send();
});
socket.removeAllListeners('close');
socket.destroy();
process.stdout.write(
  `${JSON.stringify({ p50: quantile(micros, 0.5), p99: quantile(micros, 0.99), requests: micros.length })}\n`,
);
