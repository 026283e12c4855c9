/** The HTTP/1.1 load generator, a program of its own so that it can have a core of its own. Prints one JSON line. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { quantile } from '../statistics.ts';
import { endsInFloats, holdsOutput } from './expected-body.ts';
import { HttpLoop } from './http-loop.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    connections: { type: 'string' },
    seconds: { type: 'string' },
    /** A file with the whole request as it goes on the wire. */
    request: { type: 'string' },
    /** A file with the float32s every answer's body must end in, or that the first output of a JSON answer must hold. */
    expect: { type: 'string' },
    /** Answers are JSON: the first of each connection and then one in 64 is parsed, so that the load stays light. */
    json: { type: 'boolean', default: false },
  },
});
const expected = readFileSync(values.expect ?? '');
const loop = new HttpLoop(Number(values.port), {
  connections: Number(values.connections),
  request: readFileSync(values.request ?? ''),
  isRight: values.json
    ? (body, count) => count % 64 !== 0 || holdsOutput(body, expected)
    : (body) => endsInFloats(body, expected),
});
const { answered, wrong, seconds } = await loop.run(Number(values.seconds) * 1000);
const [p50Ms, p99Ms] = [0.5, 0.99].map((fraction) => quantile(loop.latenciesMs, fraction));
loop.close();
process.stdout.write(`${JSON.stringify({ requestsPerSecond: answered / seconds, p50Ms, p99Ms, answered, wrong })}\n`);
