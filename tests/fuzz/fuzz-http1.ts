/** Pipelined HTTP/1.1 requests, valid and invalid, cut at random. */
import { Http1Connection, MemoryHost, MemoryTransport } from '@millrace/http/internal';
import { applications } from './applications.ts';
import { legalRequest, type Meaning, oddRequest } from './http1-requests.ts';
import type { FuzzRandom } from './random.ts';

export function fuzzHttp1(random: FuzzRandom): void {
  const requests = Array.from({ length: 1 + random.below(3) }, () => legalRequest(random));
  if (random.oneIn(2)) {
    fuzzLegal(random, requests);
    return;
  }
  const input = Buffer.concat(requests.map((one) => (random.oneIn(2) ? oddRequest(random, one) : one.bytes)));
  const applied = applications(random);
  const host = new MemoryHost(applied.handler);
  const transport = new MemoryTransport();
  const connection = new Http1Connection(host, transport);
  for (const chunk of random.cut(input)) {
    connection.receive(chunk);
    if (random.oneIn(3)) applied.wake();
    host.settle();
  }
  while (applied.wake()) host.settle();
  const output = transport.take().toString('latin1');
  if (output !== '' && !output.startsWith('HTTP/1.1 '))
    throw new Error(`odd output ${JSON.stringify(output.slice(0, 80))}`);
  if (random.oneIn(2)) connection.receiveEnd();
  connection.onClosed();
  while (applied.wake()) host.settle();
  if (applied.open !== 0) throw new Error(`${applied.open} requests were left open`);
  if (host.wheel.count !== 0) throw new Error('a timer is left after the end');
}

/** Every request arrives as it was meant, and is answered in order. */
function fuzzLegal(random: FuzzRandom, requests: readonly (Meaning & { readonly bytes: Buffer })[]): void {
  const seen: Meaning[] = [];
  let waiting: (() => void)[] = [];
  const host = new MemoryHost((exchange) => {
    const pieces: Uint8Array[] = [];
    exchange.listener = {
      onData: (piece) => pieces.push(piece),
      onEnd: () => {
        const body = Buffer.concat(pieces).toString('latin1');
        seen.push({ method: exchange.method, path: exchange.path, body });
        const answer = () => exchange.answer(200, [], Buffer.from(`<${exchange.path}>`), undefined, undefined);
        if (random.oneIn(2)) answer();
        else waiting.push(answer);
      },
      onAbort: () => {},
      onDrain: () => {},
      onRefused: () => {},
    };
    if (random.oneIn(2)) exchange.resume();
    else waiting.push(() => exchange.resume());
  });
  const transport = new MemoryTransport();
  const connection = new Http1Connection(host, transport);
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const action of woken) action();
    host.settle();
  };
  for (const chunk of random.cut(Buffer.concat(requests.map((one) => one.bytes)))) {
    connection.receive(chunk);
    if (random.oneIn(3)) wake();
  }
  for (let round = 0; round < 8; round++) wake();
  const wanted = requests.map(({ method, path, body }) => ({ method, path, body }));
  if (JSON.stringify(seen) !== JSON.stringify(wanted)) {
    throw new Error(`sent ${JSON.stringify(wanted)}, seen ${JSON.stringify(seen)}`);
  }
  const answers = [
    ...transport
      .take()
      .toString('latin1')
      .matchAll(/<(.*?)>/g),
  ].map((match) => match[1]);
  if (answers.join() !== requests.map((one) => one.path).join()) throw new Error(`answered ${answers.join()}`);
  connection.onClosed();
  if (host.wheel.count !== 0) throw new Error('a timer is left after the end');
}
