/**
 * The HTTP/1.1 load generator, a program of its own so that it can have a core of its own: N keep-alive connections, one
 * request each in flight, bytes prepared beforehand, answers cut by content-length and compared with the expected body.
 * Prints one JSON line.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { isNearly } from '../nearly.ts';
import { quantile } from '../statistics.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    connections: { type: 'string' },
    seconds: { type: 'string' },
    /** A file with the whole request as it goes on the wire. */
    request: { type: 'string' },
    /** A file with the float32s every answer's body must end in, or that the first output of a JSON answer must hold. */
    expect: { type: 'string' },
    /** Answers are JSON: the first of each connection and then one in 64 is looked into, so that the load stays light. */
    json: { type: 'boolean', default: false },
  },
});
const port = Number(values.port);
const connections = Number(values.connections);
const durationMs = Number(values.seconds) * 1000;
const request = readFileSync(values.request ?? '');
const expected = readFileSync(values.expect ?? '');

const latencies: number[] = [];
let answered = 0;
let wrong = 0;
let open = 0;
const begin = performance.now();
const end = begin + durationMs;

/** The last floats of an answer, compared as numbers: a batch may round the last bit otherwise than a lone row. */
function endsIn(bytes: Buffer, end: number): boolean {
  for (let offset = 0; offset < expected.length; offset += 4) {
    const value = bytes.readFloatLE(end - expected.length + offset);
    if (!(Math.abs(value - expected.readFloatLE(offset)) < 1e-5)) return false;
  }
  return true;
}

const floats = new Float32Array(Uint8Array.from(expected).buffer);

function holdsOutput(text: string): boolean {
  const { outputs } = JSON.parse(text) as { outputs: readonly { data: readonly number[] }[] };
  return isNearly(outputs[0]?.data ?? [], floats);
}

function finish(): void {
  const seconds = (performance.now() - begin) / 1000;
  process.stdout.write(
    `${JSON.stringify({
      requestsPerSecond: answered / seconds,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      answered,
      wrong,
    })}\n`,
  );
}

for (let index = 0; index < connections; index++) {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  open += 1;
  let sentAt = 0;
  let count = 0;
  let held: Buffer = Buffer.alloc(0);
  const send = (): void => {
    sentAt = performance.now();
    socket.write(request);
  };
  socket.on('connect', send);
  socket.on('data', (chunk) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const headerEnd = held.indexOf('\r\n\r\n');
    if (headerEnd < 0) return;
    const head = held.toString('latin1', 0, headerEnd);
    const length = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN);
    const total = headerEnd + 4 + length;
    if (held.length < total) return;
    const now = performance.now();
    answered += 1;
    latencies.push(now - sentAt);
    if (!head.startsWith('HTTP/1.1 200')) wrong += 1;
    else if (!values.json) wrong += endsIn(held, total) ? 0 : 1;
    else if (count++ % 64 === 0) wrong += holdsOutput(held.toString('utf8', headerEnd + 4, total)) ? 0 : 1;
    held = held.subarray(total);
    if (now < end) send();
    else socket.end();
  });
  socket.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    wrong += 1;
  });
  socket.on('close', () => {
    open -= 1;
    if (open === 0) finish();
  });
}
