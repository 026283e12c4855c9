import type { Attack } from '../attack.ts';
import { growModel } from '../attack-models.ts';
import { grpcFields, Http2Attacker, restFields } from '../raw/http2.ts';
import { inferMethod } from '../raw/infer-message.ts';
import { growJson, growMessage, growRequest, inferPath } from '../raw/requests.ts';
import { closed, type Target } from '../target.ts';

const answerBytes = 36 * 1024 * 1024;

async function overHttp1(target: Target): Promise<void> {
  const socket = await target.dial();
  if (socket === undefined) return target.sleep(100);
  target.deaf(socket);
  socket.write(growRequest(target, answerBytes));
  await Promise.race([closed(socket), target.sleep(60_000)]);
}

async function overHttp2(target: Target, isGrpc: boolean): Promise<void> {
  const { http, grpc } = target.location.ports;
  const connection = await Http2Attacker.open(target, isGrpc ? grpc : http, { windowBytes: 1 });
  if (connection === undefined) return target.sleep(100);
  for (let call = 0; call < 8; call++) {
    const id = connection.open(
      isGrpc ? grpcFields(target, inferMethod) : restFields(target, 'POST', inferPath(growModel)),
    );
    await connection.body(id, isGrpc ? growMessage(answerBytes) : Buffer.from(growJson(answerBytes)), true);
  }
  await Promise.race([closed(connection.socket), target.sleep(60_000)]);
  target.hangUp(connection.socket);
}

export const unreadAnswers: Attack = {
  name: 'unread-answers',
  row: 'Fifty small requests with answers of 36 MB each, over HTTP/1.1, HTTP/2 and gRPC, whose answers are hardly read, make the server hold 1.8 GB.',
  expected: 'refused',
  isSharedInShort: true,
  secondsMin: 16,
  run: (target, pressure) =>
    Promise.all([
      target.again(26 * pressure, () => overHttp1(target)),
      target.again(2 * pressure, () => overHttp2(target, false)),
      target.again(2 * pressure, () => overHttp2(target, true)),
    ]).then(() => {}),
};
