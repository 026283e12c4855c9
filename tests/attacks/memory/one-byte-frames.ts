import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { data, repeatFrames } from '../raw/frame-rounds.ts';
import { grpcFields, Http2Attacker, restFields } from '../raw/http2.ts';
import { announcement, inferMethod } from '../raw/infer-message.ts';
import { inferPath } from '../raw/requests.ts';
import { sent } from '../target.ts';

const framesPerRound = 5000;
const messageBytes = 32 * 1024 * 1024;

export const oneByteFrames: Attack = {
  name: 'one-byte-frames',
  row: 'HTTP/2 bodies in DATA frames of 1 byte, as REST requests and as gRPC messages, keep one object a byte.',
  expected: 'harmless',
  memoryPerBodyByteMax: 4,
  run: (target, pressure) =>
    target.again(2 * pressure, async (loop) => {
      const isGrpc = loop % 2 === 1;
      const { http, grpc } = target.location.ports;
      const connection = await Http2Attacker.open(target, isGrpc ? grpc : http);
      if (connection === undefined) return target.sleep(100);
      const fields = isGrpc ? grpcFields(target, inferMethod) : restFields(target, 'POST', inferPath(doubleModel));
      const id = connection.open(fields);
      if (isGrpc) await connection.body(id, announcement(messageBytes), false);
      const round = repeatFrames(framesPerRound, () => data(id, 'x', false));
      while (!target.isOver && !connection.isOver(id)) {
        // Windows are kept to by the round: a frame over them would end the connection for another reason.
        if (!(await connection.hasRoom(id, framesPerRound)) || !(await sent(connection.socket, round))) break;
        target.fate.bodyBytes += framesPerRound;
      }
      target.hangUp(connection.socket);
    }),
};
