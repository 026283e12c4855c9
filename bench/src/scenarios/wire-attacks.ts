/** The effect of attacks on other clients: one caller's latency during each attack, against the same caller alone. */
import { spawnSync } from 'node:child_process';
import { floods } from '@millrace/http/internal';
import { benchServer, startContestants, stopContestants } from '../contestant.ts';
import { firstMatch, startPinned, stopped } from '../pinned-process.ts';
import { programPath } from '../run-program.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';

const attacks = [
  ...floods.map(({ name }) => name),
  'slow heads (slowloris)',
  'slow bodies',
  'connections that say nothing',
  'connection flood',
];
const quiet = 'left alone, p99';
const beside = (attack: string): string => `${attack}, p99`;

/** Attacker and bystander share a core: without precedence the bystander would wait for the attacker, not for the server. */
const canPrecede = spawnSync('chrt', ['-f', '1', 'true']).status === 0;

async function latency(port: number, seconds: number): Promise<Record<string, number>> {
  const program = [
    process.execPath,
    programPath('load/bystander'),
    '--port',
    String(port),
    '--seconds',
    String(seconds),
  ];
  const command = canPrecede ? ['chrt', '-f', '1', ...program] : program;
  const child = startPinned(1, command[0] as string, command.slice(1));
  return JSON.parse((await firstMatch(child, /(\{.*\})\n/))[1] as string) as Record<string, number>;
}

const goals: readonly Goal[] = attacks.map((attack) => ({
  statement: `beside ${attack}: another caller's p99 at most 3 times what it is alone`,
  bound: 3,
  isMinimum: false,
  value: (medians) => (medians[beside(attack)] as number) / (medians[quiet] as number),
}));

export const wireAttacksScenario: Scenario = {
  name: 'wire-attacks',
  title: `One caller of a no-op beside each attack, repeated as soon as it is cut off${canPrecede ? '' : '; attacker and caller compete for a core'}`,
  unit: 'µs',
  contestants: [quiet],
  goals,
  open: async ({ seconds }) => {
    const [server] = await startContestants([benchServer('millrace', 'millrace-rpc')]);
    if (server === undefined) throw new Error('the server did not start');
    await latency(server.port, seconds);
    return {
      measure: async (): Promise<Sample> => {
        const sample: Record<string, number> = { [quiet]: (await latency(server.port, seconds)).p99 as number };
        for (const attack of attacks) {
          const attacker = startPinned(1, process.execPath, [
            programPath('load/attacker'),
            ...['--port', String(server.port), '--attack', attack],
          ]);
          await firstMatch(attacker, /attacking\n/);
          sample[beside(attack)] = (await latency(server.port, seconds)).p99 as number;
          await stopped(attacker);
        }
        return sample;
      },
      close: () => stopContestants([server]),
    };
  },
};
