/** The same traffic through node's own parsers: what they and we make of it must agree. */
import { createServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { serveHttp } from '@millrace/http';
import { Http1Connection, MemoryHost, MemoryTransport } from '@millrace/http/internal';
import { legalRequest, type Meaning, oddRequest } from './http1-requests.ts';
import type { FuzzRandom } from './random.ts';

export async function runOracles(random: FuzzRandom, count: number): Promise<string[]> {
  return [...(await compareHttp1(random, count)), ...(await compareHttp2(random, count))];
}

/** Node's parser must read every request as we do: otherwise requests could be smuggled past one of two servers. */
async function compareHttp1(random: FuzzRandom, count: number): Promise<string[]> {
  const problems: string[] = [];
  const theirs: Meaning[] = [];
  let isStricter = false;
  const server = createServer((request, response) => {
    const meaning = { method: request.method ?? '', path: (request.url ?? '').split('?')[0] ?? '', body: '' };
    request.setEncoding('latin1');
    request.on('data', (piece: string) => {
      meaning.body += piece;
    });
    request.on('end', () => {
      theirs.push(meaning);
      response.end();
    });
    request.on('error', () => {});
  });
  server.on('clientError', (error: NodeJS.ErrnoException & { reason?: string }, socket) => {
    // Node knows a list of methods, and no white space in chunk extensions; RFC 9110 allows other tokens, RFC 9112 it.
    isStricter = error.code === 'HPE_INVALID_METHOD' || /chunk extension/i.test(error.reason ?? '');
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  for (let at = 0; at < count; at++) {
    const first = legalRequest(random);
    const input = Buffer.concat([
      oddRequest(random, first),
      random.oneIn(2) ? legalRequest(random).bytes : Buffer.of(),
    ]);
    theirs.length = 0;
    isStricter = false;
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(input));
      socket.on('error', () => {});
      socket.on('data', () => {});
      socket.once('close', () => resolve());
    });
    const ours = readByUs(input);
    const agreed = ours.slice(0, theirs.length);
    const isSame = JSON.stringify(agreed) === JSON.stringify(theirs.slice(0, ours.length));
    if (!isSame || (ours.length > theirs.length && !isStricter)) {
      problems.push(
        `http1 oracle: ${JSON.stringify(input.toString('latin1'))}\n  ours ${JSON.stringify(ours)}\n  node ${JSON.stringify(theirs)}`,
      );
    }
  }
  await new Promise((resolve) => server.close(resolve));
  return problems;
}

function readByUs(input: Buffer): Meaning[] {
  const seen: Meaning[] = [];
  const host = new MemoryHost((exchange) => {
    const pieces: Uint8Array[] = [];
    exchange.listener = {
      onData: (piece) => pieces.push(piece),
      onEnd: () => {
        seen.push({ method: exchange.method, path: exchange.path, body: Buffer.concat(pieces).toString('latin1') });
        exchange.answer(200, [], undefined, undefined, undefined);
      },
      onAbort: () => {},
      onDrain: () => {},
      onRefused: () => {},
    };
    exchange.resume();
  });
  const connection = new Http1Connection(host, new MemoryTransport());
  connection.receive(input);
  connection.onClosed();
  return seen;
}

/** nghttp2, as node's client, against our server: fields and bodies survive the way there and back. */
async function compareHttp2(random: FuzzRandom, count: number): Promise<string[]> {
  const problems: string[] = [];
  const server = await serveHttp(async (request) => ({
    status: 200,
    headers: [...request.headers.entries()].filter(([name]) => name.startsWith('x-')),
    body: await request.body.readAll(1 << 20),
    trailers: () => [['x-trailer', request.headers.get('x-0') ?? 'none']],
  }));
  const session = connectHttp2(`http://${server.host}:${server.port}`);
  for (let at = 0; at < count; at++) {
    const sent: Record<string, string> = { 'x-0': '' };
    for (let field = random.below(6); field >= 0; field--) {
      const value = random.bytes(random.below(80)).toString(random.oneIn(2) ? 'base64' : 'hex');
      sent[`x-${random.oneIn(2) ? field : random.below(1000)}`] = random.oneIn(3) ? value : random.pick(['a', 'b', '']);
    }
    const body = random.bytes(random.oneIn(5) ? random.below(200_000) : random.below(300));
    const problem = await new Promise<string | undefined>((resolve) => {
      const stream = session.request({ ':method': 'POST', ':path': `/${at}`, ...sent });
      const pieces: Buffer[] = [];
      let got: Record<string, unknown> = {};
      let trailer: unknown;
      stream.on('response', (fields) => {
        got = fields;
      });
      stream.on('trailers', (fields) => {
        trailer = fields['x-trailer'];
      });
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('error', (error) => resolve(String(error)));
      stream.on('end', () => {
        const isSame = Object.entries(sent).every(([name, value]) => got[name] === value);
        const isBodySame = Buffer.concat(pieces).equals(body);
        resolve(isSame && isBodySame && trailer === sent['x-0'] ? undefined : JSON.stringify({ sent, got, trailer }));
      });
      stream.end(body);
    });
    if (problem !== undefined) problems.push(`http2 oracle: ${problem}`);
  }
  session.destroy();
  await server.close();
  return problems;
}
