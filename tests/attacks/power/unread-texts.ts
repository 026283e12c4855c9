import { once } from 'node:events';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/repository-root.ts';
import type { Attack } from '../attack.ts';
import { oneAnswer, rawJsonRequest, requestHead } from '../raw/http1.ts';
import { grpcFields, Http2Attacker, restFields } from '../raw/http2.ts';
import { envelope, inferMessage, streamMethod } from '../raw/infer-message.ts';
import { closed, Target } from '../target.ts';

const generatorModel = 'storyteller';
const generatePath = `/v2/models/${generatorModel}/generate_stream`;
const opening = 'Once upon a time there was a fox.';
const victimAddress = '127.0.0.9';
const textMsMax = 12_000;
/** More than a worker has runs. Nothing but their caller ends them; calls of HTTP/2 end when nothing was read for a time. */
const streamCount = 280;
const callCount = 50;

/** A masked text frame whose mask changes nothing. */
function textFrame(value: object): Buffer {
  const payload = Buffer.from(JSON.stringify(value));
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.of(0x81, ...length, 0, 0, 0, 0), payload]);
}

async function overWebSocket(target: Target): Promise<void> {
  const socket = await target.dial();
  if (socket === undefined) return target.sleep(100);
  socket.resume();
  const key = Buffer.alloc(16, 7).toString('base64');
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': 13,
    'sec-websocket-key': key,
  };
  socket.write(requestHead(target, 'GET', '/v1/streams', { ...upgrade, 'sec-websocket-protocol': 'millrace.v1+json' }));
  // What arrives before the answer to the upgrade is not a frame yet.
  await Promise.race([once(socket, 'data'), closed(socket)]);
  const open = {
    context: generatorModel,
    outputCredit: { messages: 1, bytes: 1_000_000 },
    parameters: { max_tokens: 400 },
  };
  socket.write(textFrame({ open }));
  socket.write(textFrame({ input: { sequence: 1, text: opening, endOfInput: true } }));
  await Promise.race([closed(socket), target.sleep(600_000)]);
  target.hangUp(socket);
}

async function overHttp2(target: Target, isGrpc: boolean): Promise<void> {
  const { http, grpc } = target.location.ports;
  const connection = await Http2Attacker.open(target, isGrpc ? grpc : http, { windowBytes: 1 });
  if (connection === undefined) return target.sleep(100);
  const text = Buffer.concat([Buffer.of(opening.length, 0, 0, 0), Buffer.from(opening)]);
  const inputs = [{ name: 'text_input', datatype: 'BYTES', shape: [1] }];
  const message = isGrpc
    ? envelope(inferMessage({ model: generatorModel, inputs, raw: [text] }))
    : Buffer.from(JSON.stringify({ text_input: opening, max_tokens: 400 }));
  for (let call = 0; call < callCount && !connection.isClosed; call++) {
    const id = connection.open(
      isGrpc
        ? grpcFields(target, streamMethod)
        : restFields(target, 'POST', generatePath, [['content-type', 'application/json']]),
    );
    await connection.body(id, message, !isGrpc);
  }
  await Promise.race([closed(connection.socket), target.sleep(600_000)]);
  target.hangUp(connection.socket);
}

/** Texts of a caller that reads them, one after the other. */
async function readTexts(target: Target, reader: Target): Promise<void> {
  let count = 0;
  while (!target.isOver) {
    const body = JSON.stringify({ text_input: opening, max_tokens: 4 });
    const answer = await Promise.race([
      oneAnswer(reader, rawJsonRequest(reader, generatePath, body)),
      target.sleep(textMsMax).then(() => 'late' as const),
    ]);
    if (target.isOver) break;
    const from = reader.location.address;
    if (answer === 'late') target.fate.harm(`a text of a caller at ${from} waited ${textMsMax} ms`);
    else if (answer?.status !== 200 || !answer.text.includes('"finish_reason":"length"')) {
      target.fate.harm(`a text of a caller at ${from} got ${answer?.status} ${answer?.text.slice(-300)}`);
    } else count += 1;
    await target.sleep(50);
  }
  if (count === 0) target.fate.harm(`a caller at ${reader.location.address} got no text`);
  reader.end();
}

export const unreadTexts: Attack = {
  name: 'unread-texts',
  row: 'One caller opens 380 texts of a generator, over WebSocket, generate_stream and ModelStreamInfer, and reads none: they held all runs of the worker, and no text of anybody else began.',
  expected: 'harmless',
  isAlone: true,
  secondsMin: 30,
  prepare: (models) => {
    models.copy(join(repositoryRoot, 'models', generatorModel));
    // Ten seconds by default.
    const unread = 'parameters { key: "millrace.unread_ms_max" value { string_value: "1000" } }';
    models.write(`${generatorModel}/config.pbtxt`, unread);
  },
  run: async (target, pressure) => {
    void target.again(streamCount * pressure, () => overWebSocket(target));
    void target.again(pressure, () => overHttp2(target, false));
    void target.again(pressure, () => overHttp2(target, true));
    await target.sleep(5000);
    // Who shares the attacker's address has a share of what is left of it, as soon as unread texts have given way.
    const readers = [victimAddress, target.location.address].map(
      (address) => new Target({ ...target.location, address }),
    );
    await Promise.all(readers.map((reader) => readTexts(target, reader)));
  },
};
