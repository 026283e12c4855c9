/**
 * What company is worth to texts, what the decode loop costs, and how long a newcomer with a long prompt holds others up: with the bundled
 * storyteller, whose weights nearly fit the cache of a processor, and with a decoder of the size that users bring, whose weights do not.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { workerAllocatorSettings } from '@millrace/router/internal';
import { smallLlamaShape, storytellerFile, writeLlamaFolder } from '@millrace/worker/testing';
import { generatorEnvironment } from 'millrace/internal';
import { runProgram } from '../run-program.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';
import { GeneratorFailover, tokensBeforeKill } from './generator-failover.ts';

const storyteller = fileURLToPath(new URL('../../../models/storyteller', import.meta.url));

/** A decoder as it is named in the figures, and the tokens of its texts. */
interface MeasuredDecoder {
  readonly name: string;
  readonly tokens: number;
  /** Turns of each way in a repetition. */
  readonly rounds: number;
}

const bundled: MeasuredDecoder = { name: 'storyteller', tokens: 120, rounds: 5 };
/** Some 40 times as large, so a repetition takes about a minute. Its texts fill the smallest cache, those of the storyteller the next one. */
const large: MeasuredDecoder = { name: '135M parameters', tokens: 56, rounds: 3 };

/** By the name of a figure of the program, that of a contestant. */
const figures = {
  oneText: 'one text',
  sixteenTexts: '16 texts',
  decodeLoop: '16 texts, decode loop',
  bareLoop: '16 texts, bare loop of session.run',
  handedBack: '16 texts, bare loop that hands the whole cache back',
} as const;
type Figure = keyof typeof figures;

function contestantOf({ name }: MeasuredDecoder, figure: Figure): string {
  return `${name}: ${figures[figure]}`;
}

function goalsOf(decoder: MeasuredDecoder): readonly Goal[] {
  const ratio = (medians: Sample, one: Figure, other: Figure): number =>
    (medians[contestantOf(decoder, one)] as number) / (medians[contestantOf(decoder, other)] as number);
  return [
    {
      statement: `${decoder.name}: 16 texts at least 5 times the tokens of one`,
      bound: 5,
      isMinimum: true,
      value: (medians) => ratio(medians, 'sixteenTexts', 'oneText'),
    },
    {
      statement: `${decoder.name}: the decode loop takes at most 15 % longer than a bare loop of session.run with the same graph and batch`,
      bound: 1.15,
      isMinimum: false,
      value: (medians) => ratio(medians, 'bareLoop', 'decodeLoop'),
    },
  ];
}

const figureNames = Object.keys(figures) as Figure[];
/** No goal is about handing the whole cache back, which would take the large one another quarter of a minute. */
const largeFigureNames = figureNames.filter((figure) => figure !== 'handedBack');

/** In a process with the environment of a worker of generators. */
function measured(
  { tokens, rounds }: MeasuredDecoder,
  file: string,
  ...options: readonly string[]
): Promise<Record<string, number>> {
  const programArguments = [file, '--tokens', String(tokens), '--rounds', String(rounds), ...options];
  return runProgram(0, 'programs/decode', programArguments, { ...workerAllocatorSettings, ...generatorEnvironment() });
}

function sampleOf(decoder: MeasuredDecoder, names: readonly Figure[], found: Record<string, number>): Sample {
  return Object.fromEntries(names.map((figure) => [contestantOf(decoder, figure), found[figure] as number]));
}

export const generatorsScenario: Scenario = {
  name: 'generators',
  title: `Texts of ${bundled.tokens} tokens by the bundled storyteller (3.3M parameters), and of ${large.tokens} by a decoder of 135M parameters, in one process on one core`,
  unit: 'tokens/s',
  contestants: [
    ...figureNames.map((figure) => contestantOf(bundled, figure)),
    ...largeFigureNames.map((figure) => contestantOf(large, figure)),
  ],
  goals: [...goalsOf(bundled), ...goalsOf(large)],
  open: async () => {
    let latest: Readonly<Record<string, number>> = {};
    const folder = mkdtempSync(join(tmpdir(), 'millrace-generators-'));
    const repository = join(folder, 'repository');
    cpSync(storyteller, join(repository, 'storyteller'), { recursive: true });
    const { file: largeFile } = await writeLlamaFolder(join(folder, 'large'), smallLlamaShape);
    const failover = await GeneratorFailover.start(repository);
    return {
      measure: async (): Promise<Sample> => {
        await failover.measure();
        latest = await measured(bundled, storytellerFile, '--all');
        return {
          ...sampleOf(bundled, figureNames, latest),
          ...sampleOf(large, largeFigureNames, await measured(large, largeFile)),
        };
      },
      // That a newcomer delays others by one piece of its prompt at most is a test of the scheduler; here is what it takes.
      tables: () => [
        {
          title: 'Longest time between two tokens of 15 texts of the storyteller, last repetition, ms',
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
