import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, requestHead } from '../raw/http1.ts';
import { envelope, streamMethod } from '../raw/infer-message.ts';
import { sent } from '../target.ts';

/** A message of about so many bytes, nearly all of them numbers. */
function numbersJson(bytes: number): Buffer {
  const numbers = '1,'.repeat(Math.floor(bytes / 2));
  const contents = `{"fp32Contents":[${numbers}1]}`;
  return Buffer.from(
    `{"modelName":"${doubleModel}","inputs":[{"name":"x","datatype":"FP32","shape":["1","2"],"contents":${contents}}]}`,
  );
}

const tooLong = envelope(numbersJson(240_000));
const longest = envelope(numbersJson(30_000));

export const connectStreamJson: Attack = {
  name: 'connect-stream-json',
  row: 'Connect streams of JSON messages, of 240 KB and of nearly as much as is read at once: 240 KB were read in one turn of 17 to 36 ms.',
  expected: 'refused',
  run: (target, pressure) =>
    target.again(8 * pressure, async (loop) => {
      const body = loop % 2 === 0 ? tooLong : Buffer.concat([longest, longest, longest, longest]);
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      const fields = { 'content-type': 'application/connect+json', 'content-length': body.length };
      socket.write(requestHead(target, 'POST', streamMethod, fields));
      await sent(socket, body);
      const answer = await Promise.race([answers.next(), target.sleep(10_000)]);
      // Errors of a stream are told in its last message, behind a status of 200.
      const code = /"code": *"(\w+)"/.exec(answer?.text ?? '')?.[1];
      if (code !== undefined) target.fate.refused(code);
      target.hangUp(socket);
    }),
};
