/** HTTP/1.1 requests to fuzz with, as text and as what they mean. */
import type { FuzzRandom } from './random.ts';

export interface Meaning {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface Http1Request extends Meaning {
  readonly bytes: Buffer;
}

const letters = 'abcdefghijklmnop';

function text(random: FuzzRandom, length: number): string {
  return Array.from({ length }, () => letters[random.below(letters.length)]).join('');
}

/** A request that RFC 9112 allows. */
export function legalRequest(random: FuzzRandom): Http1Request {
  const method = random.pick(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']);
  const path = `/${text(random, random.below(12))}`;
  const query = random.oneIn(3) ? `?${text(random, 3)}=${text(random, 3)}` : '';
  const lines = [`${method} ${path}${query} HTTP/1.1`, `Host: ${text(random, 5)}:80`];
  for (let count = random.below(4); count > 0; count--) {
    lines.push(
      `X-${text(random, 3)}:${random.pick(['', ' ', '\t'])}${text(random, random.below(20))}${random.pick(['', ' '])}`,
    );
  }
  const framing = random.below(3);
  const body = framing === 0 ? '' : text(random, random.below(60));
  let payload = body;
  if (framing === 1) lines.push(`Content-Length: ${body.length}`);
  if (framing === 2) {
    lines.push('Transfer-Encoding: chunked');
    payload = chunked(random, body);
  }
  return { method, path, body, bytes: Buffer.from(`${lines.join('\r\n')}\r\n\r\n${payload}`, 'latin1') };
}

function chunked(random: FuzzRandom, body: string): string {
  let coded = '';
  for (let at = 0; at < body.length; ) {
    const piece = body.slice(at, at + 1 + random.below(20));
    coded += `${piece.length.toString(16)}${random.oneIn(6) ? ';ext=1' : ''}\r\n${piece}\r\n`;
    at += piece.length;
  }
  return `${coded}0\r\n${random.oneIn(4) ? 'X-Trailer: yes\r\n' : ''}\r\n`;
}

const oddities = [
  'Content-Length: 5\r\n',
  'Content-Length: 05\r\n',
  'Content-Length: +5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Connection: close\r\n',
  'Host: other\r\n',
  ' folded: x\r\n',
  '\r\n',
  '\n',
  '0\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
];

/** A legal request, with something odd put between two of its lines. */
export function oddRequest(random: FuzzRandom, request: Http1Request): Buffer {
  if (random.oneIn(2)) return random.mutate(request.bytes);
  const whole = request.bytes.toString('latin1');
  const ends = [...whole.matchAll(/\r\n/g)].map((match) => match.index + 2);
  const at = random.pick(ends);
  return Buffer.from(whole.slice(0, at) + random.pick(oddities) + whole.slice(at), 'latin1');
}
