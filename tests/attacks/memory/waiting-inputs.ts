import type { Attack } from '../attack.ts';
import { Http1Answers, rawJsonRequest } from '../raw/http1.ts';
import { openStream } from '../raw/open-stream.ts';

/** As text about 700 KB. */
const inputNumbers = 100_000;
/** More than may wait on one stream. */
const callCount = 160;
/** Some of the callers leave before they are answered. */
const patienceMs = [50, 3000];

export const waitingInputs: Attack = {
  name: 'waiting-inputs',
  row: 'Large inputs by POST that wait for one before them, which never comes; many callers leave: their bodies were kept until the router was out of memory.',
  // How many wait at once, and so whether one is refused, depends on the speed of the machine; stream-host.test.ts has the limit.
  expected: 'harmless',
  secondsMin: 8,
  run: async (target, pressure) => {
    const data = Array.from({ length: inputNumbers }, (_, index) => index);
    const tensors = [{ name: 'x', datatype: 'FP32', shape: [1, inputNumbers], data }];
    const waiting = JSON.stringify({ sequence: 2, tensors });
    const { id } = await openStream(target);
    if (id === undefined) return target.fate.harm('no stream could be opened');
    await target.again(callCount * pressure, async (loop) => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      socket.write(rawJsonRequest(target, `/v1/streams/${id}/inputs`, waiting));
      const answer = answers.next();
      await Promise.race([answer, target.sleep(patienceMs[loop % patienceMs.length] as number)]);
      target.hangUp(socket);
    });
  },
};
