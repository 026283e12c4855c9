/**
 * Budget: a small unary request, from its bytes to the bytes of its answer and without a socket, costs at most ten
 * times what JSON.parse takes for a line of similar size. (The socket's system calls cost several times as much again.)
 */

import { frameFlag, frameType, HpackEncoder } from '@millrace/http2';
import { data, frame, hello, literalBlock, windowUpdate } from '@millrace/http2/testing';
import { bench, describe } from 'vitest';
import { MemoryHost } from '../wire/testing/memory-host.ts';
import type { Transport } from '../wire/transport.ts';
import { Http2Connection } from './connection.ts';

const requestsPerTurn = 32;

/** Takes everything and keeps nothing. */
const nowhere: Transport = {
  peer: { address: '', port: 0, isEncrypted: false, owner: '', isTrustedProxy: false },
  pendingBytes: 0,
  takenBytes: 0,
  write: (_pieces, onTaken) => onTaken?.(),
  pause: () => {},
  resume: () => {},
  end: () => {},
  destroy: () => {},
};

const answerFields: [string, string][] = [['content-type', 'application/grpc']];
const trailers: [string, string][] = [['grpc-status', '0']];
const body = Buffer.alloc(60);
const host = new MemoryHost((exchange) => {
  exchange.listener = {
    onData: () => {},
    onEnd: () => exchange.answer(200, answerFields, body, trailers, undefined),
    onAbort: () => exchange.end(),
    onDrain: () => {},
    onRefused: () => {},
  };
  exchange.resume();
});

/** The requests of one chunk, as nghttp2 would send them: fields by index, the path as a literal. */
function turnFrom(firstId: number, isFirst: boolean): Buffer {
  const encoder = new HpackEncoder();
  const fields: [string, string][] = [
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ['user-agent', 'bench/1'],
  ];
  const into = Buffer.alloc(400);
  const block = (): Buffer => {
    let at = encoder.begin(into, 0);
    for (const [name, value] of fields) at = encoder.encode(name, value, into, at);
    const path = literalBlock([
      [':path', '/inference.GRPCInferenceService/ModelInfer'],
      [':authority', 'localhost:8001'],
    ]);
    return Buffer.concat([Buffer.of(0x83, 0x86), path, into.subarray(0, at)]);
  };
  if (!isFirst) block();
  const parts: Buffer[] = [isFirst ? hello : windowUpdate(0, requestsPerTurn * body.length)];
  for (let at = 0; at < requestsPerTurn; at++) {
    const id = firstId + at * 2;
    parts.push(frame(frameType.headers, frameFlag.endHeaders, id, block()), data(id, Buffer.alloc(93), true));
  }
  return Buffer.concat(parts);
}

let connection = new Http2Connection(host, nowhere);
let nextId = 1;
const later = turnFrom(1, false);
const idOffsets: number[] = [];
for (let at = 0; at < later.length; at += 9 + later.readUIntBE(at, 3)) {
  if (later.readUInt32BE(at + 5) !== 0) idOffsets.push(at + 5);
}

function serveTurn(): void {
  if (nextId === 1 || nextId > 1_000_000) {
    connection.onClosed();
    connection = new Http2Connection(host, nowhere);
    connection.receive(turnFrom(1, true));
    nextId = 1 + requestsPerTurn * 2;
    return;
  }
  const turn = Buffer.from(later);
  for (const offset of idOffsets) turn.writeUInt32BE(turn.readUInt32BE(offset) - 1 + nextId, offset);
  nextId += requestsPerTurn * 2;
  connection.receive(turn);
  if (connection.isStopped) throw new Error('the bench broke its own connection');
}

const line = JSON.stringify({
  method: 'POST',
  path: '/inference.GRPCInferenceService/ModelInfer',
  body: 'x'.repeat(93),
});

describe(`${requestsPerTurn} unary requests`, () => {
  bench('through an HTTP/2 connection in memory', () => serveTurn());

  bench('JSON.parse of a line of like size, as often', () => {
    for (let at = 0; at < requestsPerTurn; at++) JSON.parse(line);
  });
});
