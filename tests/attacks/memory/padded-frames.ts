import { frameFlag, frameType } from '@millrace/http2';
import { frame } from '@millrace/http2/testing';
import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http2Attacker, restFields } from '../raw/http2.ts';
import { inferPath } from '../raw/requests.ts';
import { sent } from '../target.ts';

const paddingBytes = 255;
/** A length of the padding, one byte of the body, and the padding. */
const payload = Buffer.concat([Buffer.of(paddingBytes, 0x78), Buffer.alloc(paddingBytes)]);

export const paddedFrames: Attack = {
  name: 'padded-frames',
  row: 'Bodies on 100 streams of each connection bring one byte and 255 bytes of padding a frame, so that each byte pins what it came in.',
  expected: 'harmless',
  memoryPerBodyByteMax: 4,
  run: (target, pressure) =>
    target.again(4 * pressure, async () => {
      const connection = await Http2Attacker.open(target, target.location.ports.http);
      if (connection === undefined) return target.sleep(100);
      const streams = Array.from({ length: 100 }, () =>
        connection.open(restFields(target, 'POST', inferPath(doubleModel))),
      );
      while (!target.isOver && !connection.isClosed) {
        const open = streams.filter((id) => !connection.isOver(id));
        if (open.length === 0) break;
        for (const id of open) {
          if (!(await connection.hasRoom(id, payload.length))) break;
          if (!(await sent(connection.socket, frame(frameType.data, frameFlag.padded, id, payload)))) break;
          target.fate.bodyBytes += 1;
        }
        await target.sleep(5);
      }
      target.hangUp(connection.socket);
    }),
};
