import type { Attack } from '../attack.ts';
import { sequenceModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';
import { Target } from '../target.ts';

const victimAddress = '127.0.0.7';
/** How long another caller may wait for a slot of a model whose sequences one caller holds: its idle time, and some more. */
const victimMsMax = 6500;

function step(target: Target, id: number, value: number, flags: object): Buffer {
  const inputs = [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1], data: [value] }];
  return rawJsonRequest(
    target,
    inferPath(sequenceModel),
    JSON.stringify({ inputs, parameters: { sequence_id: id, ...flags } }),
  );
}

export const sequencesHeld: Attack = {
  name: 'sequences-held',
  row: 'One caller keeps all slots of a sequence model for ever, and sends the ids of another caller to read and spoil its sums.',
  expected: 'refused',
  isAlone: true,
  secondsMin: 12,
  run: async (target, pressure) => {
    const victim = new Target({ ...target.location, address: victimAddress });
    const shared = 4242;
    await oneAnswer(victim, step(victim, shared, 1000, { sequence_start: true }));
    const stolen = await oneAnswer(target, step(target, shared, 1, {}));
    if (stolen?.status === 200 && /"data":\[1001\]/.test(stolen.text)) {
      target.fate.harm('the sum of another caller’s sequence was read and changed by its id');
    }
    const ended = await oneAnswer(victim, step(victim, shared, 1, { sequence_end: true }));
    if (ended?.status !== 200 || !/"data":\[1001\]/.test(ended.text)) {
      target.fate.harm(`the victim’s own sum is spoiled: ${ended?.status} ${ended?.text.slice(0, 200)}`);
    }
    void target.again(64 * pressure, async (loop) => {
      await Promise.race([oneAnswer(target, step(target, loop + 1, 1, { sequence_start: true })), target.sleep(1000)]);
      while (!target.isOver) {
        await Promise.race([oneAnswer(target, step(target, loop + 1, 1, {})), target.sleep(2000)]);
        await target.sleep(500);
      }
    });
    await target.sleep(1500);
    while (!target.isOver) {
      const from = performance.now();
      const answer = await Promise.race([
        oneAnswer(victim, step(victim, 77, 5, { sequence_start: true, sequence_end: true })),
        target.sleep(victimMsMax).then(() => 'late' as const),
      ]);
      if (target.isOver) break;
      if (answer === 'late') target.fate.harm(`another caller’s sequence waited ${victimMsMax} ms without an answer`);
      else if (answer?.status !== 200) {
        target.fate.harm(
          `another caller’s sequence got ${answer?.status} after ${(performance.now() - from).toFixed(0)} ms`,
        );
      }
      await target.sleep(300);
    }
    victim.end();
  },
};
