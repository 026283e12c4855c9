/** The bundled generator: what company is worth, what the decode loop costs, and how long a newcomer with a long prompt holds others up. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { workerAllocatorSettings } from '@millrace/router/internal';
import { generatorEnvironment } from 'millrace/internal';
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { GeneratorFailover, tokensBeforeKill } from './generator-failover.ts';

const storyteller = fileURLToPath(new URL('../../../models/storyteller', import.meta.url));

const decodeLoop = '16 texts, decode loop';
const bareLoop = '16 texts, bare loop of session.run';
const handedBack = '16 texts, bare loop that hands the whole cache back';
const contestants = ['one text', '16 texts', decodeLoop, bareLoop, handedBack] as const;

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
      statement:
        'the decode loop takes at most 15 % longer than a bare loop of session.run with the same graph and batch',
      bound: 1.15,
      isMinimum: false,
      value: (medians) => ratio(medians, bareLoop, decodeLoop),
    },
  ],
  open: async () => {
    let latest: Readonly<Record<string, number>> = {};
    const folder = mkdtempSync(join(tmpdir(), 'millrace-generators-'));
    cpSync(storyteller, join(folder, 'storyteller'), { recursive: true });
    const failover = await GeneratorFailover.start(folder);
    return {
      measure: async (): Promise<Sample> => {
        await failover.measure();
        // As a worker of a generator is started.
        latest = await runProgram(0, 'programs/decode', [], { ...workerAllocatorSettings, ...generatorEnvironment() });
        return {
          'one text': latest.oneText as number,
          '16 texts': latest.sixteenTexts as number,
          [decodeLoop]: latest.decodeLoop as number,
          [bareLoop]: latest.bareLoop as number,
          [handedBack]: latest.handedBack as number,
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
        {
          title: 'A durable stream of a server on one core, medians of all repetitions, ms',
          rows: {
            'first token of a new text': { ms: failover.medians().firstMs },
            [`next token after kill -9 of the worker, at ${tokensBeforeKill} tokens`]: {
              ms: failover.medians().afterKillMs,
            },
          },
        },
      ],
      close: async () => {
        await failover.stop();
        rmSync(folder, { recursive: true });
      },
    };
  },
};
