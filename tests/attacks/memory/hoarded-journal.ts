import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { Target } from '../target.ts';

const victimAddress = '127.0.0.8';
const victimMsMax = 15_000;
/** 16 KB of input and as much of output, as text about half as much. */
const hoardedNumbers = 4096;

function openStream(target: Target, values: readonly number[], isLast: boolean): Buffer {
  const tensors = [{ name: 'x', datatype: 'FP32', shape: [1, values.length], data: values }];
  const body = { context: doubleModel, input: { sequence: 1, tensors, end_of_input: isLast } };
  return rawJsonRequest(target, '/v1/streams', JSON.stringify(body), { accept: 'text/event-stream' });
}

export const hoardedJournal: Attack = {
  name: 'hoarded-journal',
  row: 'One caller opens streams with large inputs and outputs that nobody reads, and leaves them: the journal was full for everybody, whose streams ended.',
  expected: 'refused',
  isAlone: true,
  secondsMin: 8,
  serve: ['--journal-bytes-max', '2MiB'],
  run: async (target, pressure) => {
    const victim = new Target({ ...target.location, address: victimAddress });
    const hoard = Array.from({ length: hoardedNumbers }, (_, index) => index);
    void target.again(4 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      socket.write(openStream(target, hoard, false));
      // The answer to a stream that was opened does not end.
      await Promise.race([answers.next(), target.sleep(300)]);
      target.hangUp(socket);
    });
    await target.sleep(2000);
    let number = 0;
    while (!target.isOver) {
      number += 1;
      const answer = await Promise.race([
        oneAnswer(victim, openStream(victim, [number], true)),
        target.sleep(victimMsMax).then(() => 'late' as const),
      ]);
      if (target.isOver) break;
      if (answer === 'late') target.fate.harm(`a stream of another caller waited ${victimMsMax} ms`);
      else if (answer?.status !== 200 || !answer.text.includes('"done"')) {
        target.fate.harm(`a stream of another caller got ${answer?.status} ${answer?.text.slice(-300)}`);
      } else if (!answer.text.includes(`[${2 * number}.0]`)) {
        target.fate.harm(`a stream of another caller got a wrong output: ${answer.text.slice(0, 300)}`);
      }
      await target.sleep(50);
    }
    victim.end();
  },
};
