/** Makes a failing case smaller while it still fails, and writes the smallest down with how to repeat it. */
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChunkServer } from './chunk-server.ts';
import type { Generator } from './generator.ts';
import type { CaseResult, Failure, FailureKind } from './result.ts';
import type { ChunkOrder } from './serve-chunk.ts';

const roundsMax = 25;

interface ShrinkParts {
  readonly order: ChunkOrder;
  readonly result: CaseResult;
  readonly generator: Generator;
  readonly server: ChunkServer;
  /** Where the smallest case is kept. */
  readonly failureFolder: string;
}

const severity: readonly FailureKind[] = [
  'unsound',
  'unwritten',
  'wrong',
  'crash',
  'five-hundred',
  'answered',
  'not-loaded',
  'refused',
];

function worstOf(failures: readonly Failure[]): Failure {
  return [...failures].sort((a, b) => severity.indexOf(a.kind) - severity.indexOf(b.kind))[0] as Failure;
}

/** What a smaller case must have in common with the case: the kind of failure and its message, without names and numbers. */
function signatureOf({ kind, message }: Failure): string {
  return `${kind} ${message
    .split(':')[0]
    ?.replace(/\b[vcgx]\d+\b/g, '')
    .replace(/\d+/g, '')}`;
}

/** What was kept, in one line. */
export async function shrink({ order, result, generator, server, failureFolder }: ShrinkParts): Promise<string> {
  let folder = order.folder;
  let smallest = result;
  const wanted = signatureOf(worstOf(result.failures));
  for (let round = 0; round < roundsMax; round++) {
    const candidates = join(order.folder, `smaller-${result.seed}-${round}`);
    const { cases } = await generator.make({ folder: candidates, shrink: folder, name: smallest.name });
    if (cases === 0) break;
    const results = await server.serve({ ...order, folder: candidates, lane: result.lane });
    // The generator writes the smallest first.
    const failing = results.find(({ failures }) => failures.some((failure) => signatureOf(failure) === wanted));
    if (failing === undefined) break;
    folder = candidates;
    smallest = failing;
  }
  copyFileSync(join(folder, `${smallest.name}.onnx`), join(failureFolder, 'model.onnx'));
  const text = join(folder, `${smallest.name}.txt`);
  if (existsSync(text)) copyFileSync(text, join(failureFolder, 'case.txt'));
  const command = `node tests/dist/oracle/random-graphs/main.js --seed ${result.seed} --lane ${result.lane}`;
  writeFileSync(
    join(failureFolder, 'README.md'),
    `The smallest graph found for seed ${result.seed} that still fails is \`model.onnx\`; \`case.txt\` shows it with its requests.\n\nRepeat the whole case: \`${command}\`\n\n${smallest.failures.map(({ kind, message }) => `- ${kind}: ${message}`).join('\n')}\n`,
  );
  return `seed ${result.seed}: smallest graph in ${failureFolder}`;
}
