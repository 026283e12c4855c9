/** What the scenarios of durable streams have in common: a load that counts outputs, and a warm-up by their number. */
import { benchServer, type Contestant, millraceServing, type RunningContestant } from '../contestant.ts';
import { isModelWorker, processorSeconds, withProcessorMicros } from '../processor-time.ts';
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
 * The same, with the processor time of workers, which run models only, as a figure of its own: for a comparison of what it takes
 * to send outputs, not to make them.
 */
export async function measureOutputsWithoutModel(
  server: RunningContestant,
  name: string,
  program: string,
  programArguments: readonly string[],
): Promise<MeasuredOutputs> {
  const { pid } = server.child;
  const workerSeconds = (): number => (pid === undefined ? undefined : processorSeconds(pid, isModelWorker)) ?? 0;
  const before = workerSeconds();
  const { outputs, sample } = await measureOutputs(server, name, program, programArguments);
  const workerMicros = ((workerSeconds() - before) * 1e6) / outputs;
  const serverName = `${name} server µs a output`;
  const micros = sample[serverName];
  if (micros === undefined || workerMicros === 0) return { outputs, sample };
  const apart = { [serverName]: micros - workerMicros, [`${name} worker µs a output`]: workerMicros };
  return { outputs, sample: { ...sample, ...apart } };
}

/**
 * An output goes through so much code that V8 goes on optimizing it for longer than a time that is enough elsewhere: the
 * first tens of thousands took twice as much processor time as later ones.
 */
const warmUpOutputsMin = 200_000;

export async function warmUpOutputs(load: () => Promise<MeasuredOutputs>): Promise<void> {
  for (let outputs = 0; outputs < warmUpOutputsMin; ) outputs += (await load()).outputs;
}
