import type { Attack } from '../attack.ts';
import { oneAnswer, requestHead } from '../raw/http1.ts';
import { openStream } from '../raw/open-stream.ts';
import { Target } from '../target.ts';

const accompliceAddress = '127.0.0.7';
const victimAddress = '127.0.0.8';

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
        await openStream(thief);
        await thief.sleep(20);
      });
    void takeAll(target);
    void takeAll(accomplice);
    await target.sleep(3000);
    while (!target.isOver) {
      const { id, answer } = await openStream(victim);
      if (target.isOver) break;
      if (id === undefined) target.fate.harm(`another caller got ${answer?.status} ${answer?.text.slice(0, 300)}`);
      else await oneAnswer(victim, requestHead(victim, 'DELETE', `/v1/streams/${id}`));
      await target.sleep(100);
    }
    accomplice.end();
    victim.end();
  },
};
