/** `millrace stream`: a durable stream of a running server in the terminal, which survives lost links and restarts. */

import type { GrpcCallStatus } from '../../stream-client/grpc-status.ts';
import { ResumingStream, StreamGivenUp } from '../../stream-client/resuming-stream.ts';
import type { EndedJson, OpenedJson } from '../../stream-client/stream-frames.ts';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { type AskingSignal, onStopSignal, signalExitCodes } from '../stop-signals.ts';
import { OutputPrinter } from './output-text.ts';
import { streamInputs } from './stream-inputs.ts';
import { type StreamCommandPlan, streamCommandPlanFrom } from './stream-plan.ts';

const openMsMax = 30_000;
const outputCredit = { messages: 64, bytes: 4 * 1024 * 1024 };

export async function runStreamCommand(parsed: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  const plan = streamCommandPlanFrom(parsed);
  const say = (text: string): void => void parts.stderr.write(`millrace: ${text}\n`);
  const printer = new OutputPrinter();
  let wasLost = false;
  let signal: AskingSignal | undefined;
  let isUnread = false;
  const stream = new ResumingStream({
    ...plan,
    mode: plan.isTakenUp && plan.text === undefined && plan.inputs.size === 0 ? 'resume' : 'either',
    outputCredit,
    openMsMax,
    random: Math.random,
    now: parts.now,
    listener: {
      onFrame: (frame) => {
        if (plan.isJson) parts.stdout.write(`${frame}\n`);
      },
      onOpened: (opened, isResumed) => {
        if (!wasLost) say(openedText(opened, isResumed));
        else say(`resumed after output ${opened.nextOutput - 1}`);
        wasLost = false;
      },
      onOutput: (output) => {
        const text = plan.isJson ? '' : printer.print(output);
        parts.stdout.write(text, (error) => {
          if (error === undefined || error === null) stream.acknowledge(output.sequence, output.endOfOutput !== true);
          else if (!isUnread) {
            isUnread = true;
            stream.cancel('the reader of its output is gone');
          }
        });
      },
      onLost: (status, lastOutput, pauseMs) => {
        wasLost = true;
        say(`connection lost (${statusText(status)}); resuming after output ${lastOutput} in ${pauseMs} ms`);
      },
    },
  });
  const stopInputs = new AbortController();
  const unlisten = onStopSignal(parts, (first) => {
    signal = first;
    stopInputs.abort();
    say('cancelling the stream; once more leaves at once');
    stream.cancel(`the client got ${first}`);
  });
  try {
    const ended = await Promise.race([stream.whenEnded, failureOf(sendInputs(plan, parts, stream, stopInputs.signal))]);
    // What a signal asked for is no failure; it is said by the exit code.
    if (signal !== undefined && ended.outcome === 'cancelled') return signalExitCodes[signal];
    return exitCodeOf(ended, say);
  } catch (error) {
    throw error instanceof StreamGivenUp ? failureFrom(error, plan, stream) : error;
  } finally {
    stopInputs.abort();
    unlisten();
    stream.leave();
    parts.stdout.write(printer.end());
  }
}

async function sendInputs(
  plan: StreamCommandPlan,
  parts: CommandEnvironment,
  stream: ResumingStream,
  signal: AbortSignal,
): Promise<void> {
  for await (const { input, isLast } of streamInputs(plan, parts, signal)) {
    if (signal.aborted) return;
    await stream.send(input, isLast);
  }
}

/** Rejects where it does, and never resolves: that the inputs are sent ends nothing. */
function failureOf(done: Promise<void>): Promise<never> {
  return new Promise((_resolve, reject) => {
    done.catch(reject);
  });
}

function openedText({ streamId, model, version, nextOutput, warnings = [] }: OpenedJson, isResumed: boolean): string {
  const taken = isResumed ? `, taken up after output ${nextOutput - 1}` : '';
  return [`stream ${streamId} of ${model}:${version}${taken}`, ...warnings].join('\nmillrace: ');
}

function statusText({ name, code, message }: GrpcCallStatus): string {
  return code === undefined ? `${name}: ${message}` : `${name}, ${code}: ${message}`;
}

function exitCodeOf({ outcome, code = '', message = '' }: EndedJson, say: (text: string) => void): number {
  if (outcome === 'done') return exitCodes.ok;
  say(`the stream ended as ${outcome}: ${[code, message].filter((part) => part !== '').join(': ')}`);
  return exitCodes.failure;
}

function failureFrom(
  error: StreamGivenUp,
  { url, context, streamId }: StreamCommandPlan,
  stream: ResumingStream,
): CommandFailure {
  const { systemCode, code } = error.status;
  if (systemCode === 'ECONNREFUSED' || systemCode === 'ENOTFOUND') {
    return new CommandFailure(
      `nothing answers at ${url} (${systemCode}): start a server with millrace serve, or give its address with --url`,
    );
  }
  const again = `millrace stream ${context} --stream-id ${streamId} --resume-after ${stream.lastOutput}`;
  const advice = code === undefined ? `; to take it up later: ${again}` : '';
  return new CommandFailure(`the stream cannot go on: ${error.message}${advice}`);
}
