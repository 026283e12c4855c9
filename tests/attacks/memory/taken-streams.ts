import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest, requestHead } from '../raw/http1.ts';
import { Target } from '../target.ts';

const accompliceAddress = '127.0.0.7';
const victimAddress = '127.0.0.8';

const openRequest = (target: Target): Buffer =>
  rawJsonRequest(target, '/v1/streams', JSON.stringify({ context: doubleModel }));

export const takenStreams: Attack = {
  name: 'taken-streams',
  row: 'Two callers open streams and leave them: each had half of the places, and nobody else could open one.',
  expected: 'refused',
  isAlone: true,
  secondsMin: 6,
  serve: ['--streams-max', '64'],
  run: async (target, pressure) => {
    const [accomplice, victim] = [accompliceAddress, victimAddress].map(
      (address) => new Target({ ...target.location, address }),
    ) as [Target, Target];
    const takeAll = (thief: Target): Promise<void> =>
      thief.again(4 * pressure, async () => {
        await oneAnswer(thief, openRequest(thief));
        await thief.sleep(20);
      });
    void takeAll(target);
    void takeAll(accomplice);
    await target.sleep(3000);
    while (!target.isOver) {
      const opened = await oneAnswer(victim, openRequest(victim));
      if (target.isOver) break;
      const stream = /"streamId": *"([^"]+)"/.exec(opened?.text ?? '')?.[1];
      if (stream === undefined) target.fate.harm(`another caller got ${opened?.status} ${opened?.text.slice(0, 300)}`);
      else await oneAnswer(victim, requestHead(victim, 'DELETE', `/v1/streams/${stream}`));
      await target.sleep(100);
    }
    accomplice.end();
    victim.end();
  },
};
