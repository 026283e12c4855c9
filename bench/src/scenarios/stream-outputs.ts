/** What the scenarios of durable streams have in common: a load that counts outputs, and a warm-up by their number. */
import { benchServer, type Contestant, millraceServing, type RunningContestant } from '../contestant.ts';
import { withProcessorMicros } from '../processor-time.ts';
import { runProgram } from '../run-program.ts';
import type { Sample } from '../scenario.ts';

export const journaled = 'millrace, durability process';
export const unjournaled = 'millrace, durability none';

/** A server that has no journal, and ours with and without one. */
export function streamContestants(baseline: string, program: string, repository: string): readonly Contestant[] {
  const { command, listening } = millraceServing(repository, 'inline');
  return [
    benchServer(baseline, program),
    { name: journaled, command: [...command, '--stream-durability', 'process'], listening },
    { name: unjournaled, command: [...command, '--stream-durability', 'none'], listening },
  ];
}

export interface MeasuredOutputs {
  readonly outputs: number;
  readonly sample: Sample;
}

/** Runs a load program, which prints `outputs`, `outputsPerSecond` and `wrong`; figures are called `name`. */
export async function measureOutputs(
  { child, port }: RunningContestant,
  name: string,
  program: string,
  programArguments: readonly string[],
): Promise<MeasuredOutputs> {
  const { result, micros } = await withProcessorMicros(
    child.pid,
    () => runProgram(1, program, ['--port', String(port), ...programArguments]),
    ({ outputs }) => outputs as number,
  );
  if (result.wrong !== 0) throw new Error(`${name}: ${result.wrong} streams ended wrongly`);
  const rate = { [name]: result.outputsPerSecond as number };
  const sample = micros === undefined ? rate : { ...rate, [`${name} server µs a output`]: micros };
  return { outputs: result.outputs as number, sample };
}

/**
 * An output goes through so much code that V8 goes on optimizing it for longer than a time that is enough elsewhere: the
 * first tens of thousands took twice as much processor time as later ones.
 */
const warmUpOutputsMin = 200_000;

export async function warmUpOutputs(load: () => Promise<MeasuredOutputs>): Promise<void> {
  for (let outputs = 0; outputs < warmUpOutputsMin; ) outputs += (await load()).outputs;
}
