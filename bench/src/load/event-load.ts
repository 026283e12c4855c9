/**
 * Server-sent events over HTTP/1.1, one stream at a time on one connection: one input that is answered by `--count` outputs,
 * again and again. Prints one JSON line. Contents are checked by the scenario; here every stream must have the right
 * number of outputs and end by `ended`.
 */
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { generateJson, httpStreamPath } from '../stream-messages.ts';
import { EventCounter } from './event-counter.ts';

const { values } = parseArgs({
  options: { port: { type: 'string' }, seconds: { type: 'string' }, count: { type: 'string' } },
});
const count = Number(values.count);
const body = generateJson(count);
const request = Buffer.from(
  [
    `POST ${httpStreamPath} HTTP/1.1`,
    `host: 127.0.0.1:${values.port}`,
    'accept: text/event-stream',
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n'),
);
const begin = performance.now();
const end = begin + Number(values.seconds) * 1000;
let outputs = 0;
let wrong = 0;

const counter = new EventCounter(() => {
  outputs += counter.outputs;
  // The chunks are followed by an output that says that there are no more.
  if (counter.outputs !== count + 1 || !counter.hasEnded) wrong += 1;
  const now = performance.now();
  if (now < end && wrong === 0) {
    socket.write(request);
    return;
  }
  const outputsPerSecond = (outputs * 1000) / (now - begin);
  process.stdout.write(`${JSON.stringify({ outputsPerSecond, outputs, wrong })}\n`);
  socket.destroy();
});
const socket = connect(Number(values.port), '127.0.0.1');
socket.setNoDelay(true);
socket.on('data', (bytes) => counter.push(bytes));
socket.write(request);
