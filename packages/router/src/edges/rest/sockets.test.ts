import { connect, type Socket } from 'node:net';
import { type HttpServer, serveHttp } from '@millrace/http';
import type { CancelReason } from '@millrace/protocol';
import { afterEach, expect, test } from 'vitest';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import { binaryRequest, binarySize, echoEdge, input, noStreams, typedBytes } from './testing/echo-double.ts';

const servers: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
});

async function dial(dataPlane?: DataPlane): Promise<{ socket: Socket; edge: ReturnType<typeof echoEdge> }> {
  const edge = echoEdge(dataPlane === undefined ? {} : { dataPlane });
  const server = await serveHttp(edge.handler);
  servers.push(server);
  const socket = connect(server.port, server.host);
  sockets.push(socket);
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, edge };
}

const request = binaryRequest(
  { inputs: [input('x', 'FP32', [2], binarySize(8))], parameters: { binary_data_output: true } },
  typedBytes(new Float32Array([1.5, -2])),
);

function send(socket: Socket): void {
  const fields = (request.headers ?? []).map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(
    `POST ${request.target} HTTP/1.1\r\nhost: x\r\n${fields}content-length: ${request.body.byteLength}\r\n\r\n`,
  );
  socket.write(request.body);
}

test('a binary request is answered in binary over a socket', async () => {
  const { socket, edge } = await dial();
  send(socket);
  const received: Buffer[] = [];
  const tail = typedBytes(new Float32Array([1.5, -2]));
  await new Promise<void>((resolve) => {
    socket.on('data', (piece: Buffer) => {
      received.push(piece);
      if (Buffer.concat(received).subarray(-8).equals(tail)) resolve();
    });
  });
  const [head = '', body = ''] = Buffer.concat(received).toString('latin1').split('\r\n\r\n');
  const jsonBytes = Number(/inference-header-content-length: (\d+)/i.exec(head)?.[1]);
  expect(JSON.parse(body.slice(0, jsonBytes)).outputs[0].parameters).toEqual({ binary_data_size: 8 });
  expect(body.length).toBe(jsonBytes + 8);
  expect(edge.dataPlane.releases).toBe(1);
});

test('a probe that repeats its request on one connection sees every change at once', async () => {
  const health = { isLive: true, isReady: false };
  const server = await serveHttp(echoEdge({ health }).handler);
  servers.push(server);
  const socket = connect(server.port, server.host);
  sockets.push(socket);
  const probe = async (target: string): Promise<string> => {
    socket.write(`GET /v2/health/${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const bytes = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    return bytes.toString('latin1').replace(/date: .*?\r\n/, '');
  };
  const answer = (status: string): string =>
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n`;
  for (const isReady of [false, false, true, true, false, true]) {
    health.isReady = isReady;
    expect(await probe('ready')).toBe(answer(isReady ? '200 OK' : '400 Bad Request'));
  }
  expect(await probe('live')).toBe(answer('200 OK'));
  expect(await probe('ready')).toBe(answer('200 OK'));
});

test('a client that disconnects while the model runs cancels the inference, and its late answer is released', async () => {
  let begun: () => void = () => {};
  const isRunning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let released: () => void = () => {};
  const isReleased = new Promise<void>((resolve) => {
    released = resolve;
  });
  let reason: CancelReason | undefined;
  let releases = 0;
  const { socket } = await dial({
    noteRefusal: () => {},
    deadlineAfter: () => Number.POSITIVE_INFINITY,
    openStream: noStreams,
    infer: (inference, signal) =>
      new Promise<InferAnswer>((resolve) => {
        signal.onCancel((why) => {
          reason = why;
          const release = () => {
            releases += 1;
            released();
          };
          resolve({ model: 'm', version: '1', id: '', outputs: inference.inputs, release });
        });
        begun();
      }),
  });
  send(socket);
  await isRunning;
  socket.destroy();
  await isReleased;
  await new Promise(setImmediate);
  expect([reason, releases]).toEqual(['cancelled', 1]);
});

test('a client that disconnects in the middle of a large answer releases it, once', async () => {
  const data = new Uint8Array(64 * 1024 * 1024);
  let released: () => void = () => {};
  const isReleased = new Promise<void>((resolve) => {
    released = resolve;
  });
  let releases = 0;
  const { socket } = await dial({
    noteRefusal: () => {},
    deadlineAfter: () => Number.POSITIVE_INFINITY,
    openStream: noStreams,
    infer: () =>
      Promise.resolve({
        model: 'm',
        version: '1',
        id: '',
        outputs: [{ name: 'x', datatype: 'UINT8', shape: [data.byteLength], data }],
        release: () => {
          releases += 1;
          released();
        },
      }),
  });
  send(socket);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  expect(releases).toBe(0);
  socket.destroy();
  await isReleased;
  await new Promise(setImmediate);
  expect(releases).toBe(1);
});
