import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import type { Target } from '../target.ts';

/** As text about 700 KB. */
const inputNumbers = 100_000;
/** More than may wait on one stream. */
const callCount = 160;
/** Some of the callers leave before they are answered. */
const patienceMs = [50, 3000];

function input(sequence: number, values: readonly number[]): object {
  return { sequence, tensors: [{ name: 'x', datatype: 'FP32', shape: [1, values.length], data: values }] };
}

async function openStream(target: Target): Promise<string | undefined> {
  const opened = await oneAnswer(
    target,
    rawJsonRequest(target, '/v1/streams', JSON.stringify({ context: doubleModel })),
  );
  return /"streamId": *"([^"]+)"/.exec(opened?.text ?? '')?.[1];
}

export const waitingInputs: Attack = {
  name: 'waiting-inputs',
  row: 'Large inputs by POST that wait for one before them, which never comes; many callers leave: their bodies were kept until the router was out of memory.',
  expected: 'refused',
  secondsMin: 8,
  run: async (target, pressure) => {
    const waiting = JSON.stringify(
      input(
        2,
        Array.from({ length: inputNumbers }, (_, index) => index),
      ),
    );
    const stream = await openStream(target);
    if (stream === undefined) return target.fate.harm('no stream could be opened');
    await target.again(callCount * pressure, async (loop) => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      socket.write(rawJsonRequest(target, `/v1/streams/${stream}/inputs`, waiting));
      const answer = answers.next();
      await Promise.race([answer, target.sleep(patienceMs[loop % patienceMs.length] as number)]);
      target.hangUp(socket);
    });
  },
};
