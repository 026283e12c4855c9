import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';

export const inlineOverheadScenario: Scenario = {
  name: 'one-caller',
  title: 'One caller, one row of the MLP, no socket, all on one core',
  unit: 'µs at the median',
  contestants: ['raw session.run', 'inline lane', 'local lane'],
  goals: [
    {
      statement: 'inline lane at most 20 µs over raw session.run (µs)',
      bound: 20,
      isMinimum: false,
      value: (medians) => (medians['inline lane'] as number) - (medians['raw session.run'] as number),
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (): Promise<Sample> => {
        const { raw, inline, local } = await runProgram(0, 'programs/one-caller', [String(seconds)]);
        return { 'raw session.run': raw as number, 'inline lane': inline as number, 'local lane': local as number };
      },
      close: () => Promise.resolve(),
    }),
};
