import { gzipSync } from 'node:zlib';
import type { Attack } from '../attack.ts';
import { Http1Answers, requestHead } from '../raw/http1.ts';
import { envelope, inferMethod } from '../raw/infer-message.ts';
import { sent } from '../target.ts';

export const grpcWebText: Attack = {
  name: 'grpc-web-text',
  row: 'gRPC-Web text bodies: base64 with padding after every three bytes, and a compressed message of 200 MB inside base64.',
  expected: 'refused',
  run: async (target, pressure) => {
    const bomb = envelope(gzipSync(Buffer.alloc(200_000_000)), true).toString('base64');
    // Every piece ends with padding, and so is a message of base64 of its own.
    const padded = 'AA=='.repeat(1_000_000);
    await target.again(4 * pressure, async (loop) => {
      const body = loop % 2 === 0 ? bomb : padded;
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      const fields = {
        'content-type': 'application/grpc-web-text+proto',
        'grpc-encoding': 'gzip',
        'content-length': body.length,
      };
      socket.write(requestHead(target, 'POST', inferMethod, fields));
      await sent(socket, body);
      const answer = await Promise.race([answers.next(), target.sleep(10_000)]);
      // A refusal is a trailer in the body there, as base64, behind a status of 200.
      if (answer !== undefined && answer.status === 200) target.fate.refused('grpc-web status in the body');
      target.hangUp(socket);
    });
  },
};
