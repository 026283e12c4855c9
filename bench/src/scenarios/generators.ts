/** The bundled generator: what company is worth, what the decode loop costs, and how long a newcomer with a long prompt holds others up. */
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';

const contestants = ['one text', '16 texts', '16 texts, decode loop', '16 texts, bare session.run'] as const;

function ratio(medians: Sample, one: (typeof contestants)[number], other: (typeof contestants)[number]): number {
  return (medians[one] as number) / (medians[other] as number);
}

export const generatorsScenario: Scenario = {
  name: 'generators',
  title: 'Texts of 120 tokens by the bundled storyteller, in one process on one core',
  unit: 'tokens/s',
  contestants,
  goals: [
    {
      statement: '16 texts at least 5 times the tokens of one',
      bound: 5,
      isMinimum: true,
      value: (medians) => ratio(medians, '16 texts', 'one text'),
    },
    {
      statement: 'the decode loop takes at most 15 % longer than the same runs of the model alone',
      bound: 1.15,
      isMinimum: false,
      value: (medians) => ratio(medians, '16 texts, bare session.run', '16 texts, decode loop'),
    },
  ],
  open: async () => {
    let latest: Readonly<Record<string, number>> = {};
    return {
      measure: async (): Promise<Sample> => {
        latest = await runProgram(0, 'programs/decode', []);
        return {
          'one text': latest.oneText as number,
          '16 texts': latest.sixteenTexts as number,
          '16 texts, decode loop': latest.decodeLoop as number,
          '16 texts, bare session.run': latest.bareRuns as number,
        };
      },
      // That a newcomer delays others by one piece of its prompt at most is a test of the scheduler; here is what it takes.
      tables: () => [
        {
          title: 'Longest time between two tokens of 15 texts, last repetition, ms',
          rows: {
            undisturbed: { ms: latest.longestGapMs as number },
            'while a prompt of 300 tokens is read': { ms: latest.longestGapWithPromptMs as number },
            'one piece of 64 tokens alone': { ms: latest.prefillPieceMs as number },
          },
        },
      ],
      close: () => Promise.resolve(),
    };
  },
};
