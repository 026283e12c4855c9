/** `millrace drill`: breaks a real server during a stream, and checks that the client gets what it would have got. */
import { askHealth } from '../../stream-client/health-check.ts';
import { CommandFailure } from '../command-failure.ts';
import { deferred } from '../deferred.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { type AskingSignal, onStopSignal, signalExitCodes } from '../stop-signals.ts';
import { type DrillFaultParts, logLine, prepareFault } from './drill-faults.ts';
import { type DrillPlan, drillPlanFrom } from './drill-plan.ts';
import type { DrillKind } from './drill-spec.ts';
import { type DrillResult, runDrillStream, windowOutputs } from './drill-stream.ts';
import { type DrillTarget, runningTarget } from './drill-target.ts';
import { DrillTranscript } from './drill-transcript.ts';
import { drillVerdict } from './drill-verdict.ts';
import { startPrivateServer } from './private-server.ts';

/** Loading a model on a busy machine takes its time. */
const readyMsMax = 120_000;

export async function runDrillCommand(parsed: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  const plan = drillPlanFrom(parsed);
  const transcript = new DrillTranscript(parts, plan.isJson);
  const { promise: stopped, resolve: stop } = deferred<AskingSignal>();
  const unlisten = onStopSignal(parts, stop);
  let target: DrillTarget | undefined;
  try {
    if (plan.running === undefined) transcript.add('drill', 'starting a server of its own');
    target = plan.running === undefined ? await startPrivateServer(plan, parts) : runningTarget(plan.running, parts);
    const done = runKinds({ target, plan, transcript, environment: parts });
    const ended = await Promise.race([done, stopped]);
    return typeof ended === 'string' ? signalExitCodes[ended] : ended;
  } finally {
    unlisten();
    await target?.close();
  }
}

async function runKinds(parts: DrillFaultParts): Promise<number> {
  const { target, plan, transcript, environment } = parts;
  await untilReady(target, plan, environment);
  transcript.add('drill', `${plan.model} is served at ${target.url}`);
  const undisturbed = await runUndisturbed(parts);
  let isPassed = true;
  for (const kind of plan.kinds) {
    transcript.add('drill', `kind ${kind}`);
    const verdict = drillVerdict(kind, undisturbed, await runDisturbed(kind, parts));
    transcript.verdict(verdict);
    isPassed &&= verdict.isPassed;
    // The next kind begins with a whole server.
    await untilReady(target, plan, environment);
  }
  return isPassed ? exitCodes.ok : exitCodes.failure;
}

async function runUndisturbed({ target, plan, transcript, environment }: DrillFaultParts): Promise<DrillResult> {
  const result = await runDrillStream({
    url: target.url,
    plan,
    environment,
    transcript: undefined,
    onDue: () => {},
    isReplaced: () => false,
  });
  const { outcome, code = '', message = '' } = result.ended;
  if (outcome !== 'done') {
    throw new CommandFailure(`the undisturbed stream ended as ${outcome}: ${code}: ${message}; repair that first`);
  }
  const outputsMin = plan.after + windowOutputs + 1;
  if (result.outputs.length < outputsMin) {
    throw new CommandFailure(
      `the undisturbed stream has ${result.outputs.length} outputs, and a drill after ${plan.after} needs ${outputsMin}: ask for a longer text with --parameters, or give a smaller --after`,
    );
  }
  transcript.add('drill', `undisturbed run: ${result.outputs.length} outputs, ${JSON.stringify(result.text)}`);
  return result;
}

async function runDisturbed(kind: DrillKind, parts: DrillFaultParts): Promise<DrillResult> {
  const { target, plan, transcript, environment } = parts;
  const fault = await prepareFault(kind, parts);
  const unlisten = target.onLog((record) => {
    if (fault.logMessages.includes(record.message)) transcript.add('log', logLine(record));
  });
  const { promise: failed, reject } = deferred<never>();
  try {
    const strike = (): void => {
      try {
        fault.strike();
      } catch (error) {
        reject(error);
      }
      fault.settled().catch(reject);
    };
    const { url, isReplaced } = fault;
    const run = runDrillStream({ url, plan, environment, transcript, onDue: strike, isReplaced });
    const result = await Promise.race([run, failed]);
    await fault.settled();
    return result;
  } finally {
    unlisten();
    await fault.close();
  }
}

async function untilReady(
  { url }: DrillTarget,
  { model, deadlineMs }: DrillPlan,
  parts: CommandEnvironment,
): Promise<void> {
  const giveUpAt = parts.now() + readyMsMax;
  for (;;) {
    const answer = await askHealth(url, model, deadlineMs);
    if (answer.state === 'SERVING') return;
    const why = answer.state ?? `${answer.status.name}: ${answer.status.message}`;
    const isWrong = answer.state === undefined && ['NOT_FOUND', 'UNIMPLEMENTED'].includes(answer.status.name);
    if (isWrong || parts.now() > giveUpAt) throw new CommandFailure(`${model} is not served at ${url}: ${why}`);
    await parts.delay(50);
  }
}
