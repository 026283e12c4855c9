/** One stream of a drill, and what its client saw. */
import { randomUUID } from 'node:crypto';
import { askHealth } from '../../stream-client/health-check.ts';
import { ResumingStream, StreamGivenUp } from '../../stream-client/resuming-stream.ts';
import type { EndedJson, OutputJson } from '../../stream-client/stream-frames.ts';
import { CommandFailure } from '../command-failure.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { takeOutputText } from '../stream/output-text.ts';
import type { DrillPlan } from './drill-plan.ts';
import type { DrillTranscript } from './drill-transcript.ts';

export interface DrillStreamParts {
  readonly url: string;
  readonly plan: DrillPlan;
  readonly environment: CommandEnvironment;
  /** Undefined: the stream is not written down. */
  readonly transcript: DrillTranscript | undefined;
  /** Called once, when so many outputs have come that something should fail. */
  readonly onDue: () => void;
  /** Whether what serves now is another process than at the beginning. */
  readonly isReplaced: () => boolean;
}

export interface DrillResult {
  /** The frames as they came. */
  readonly outputs: readonly string[];
  readonly text: string;
  readonly ended: EndedJson;
  /** The statuses of the connections that were lost. */
  readonly losses: readonly string[];
  /** The longest time between two outputs, and the output after it. */
  readonly gap: { readonly ms: number; readonly beforeOutput: number };
}

/**
 * Outputs that may come ahead of the last acknowledged one: a stream cannot be over before it is broken, however fast its
 * model is.
 */
export const windowOutputs = 8;
const lookMs = 50;
/** Without a connection for so long, the drill has failed. */
const lostMsMax = 300_000;

export async function runDrillStream(parts: DrillStreamParts): Promise<DrillResult> {
  const { url, plan, environment, transcript } = parts;
  const { now } = environment;
  const outputs: string[] = [];
  const losses: string[] = [];
  let text = '';
  let gap = { ms: 0, beforeOutput: 0 };
  let lastAt: number | undefined;
  const streamId = randomUUID();
  transcript?.add('client', `open stream_id=${streamId} seq=0 deadline=${plan.deadlineMs / 1000}s`);
  const stream: ResumingStream = new ResumingStream({
    url,
    streamId,
    mode: 'either',
    context: plan.model,
    parameters: plan.parameters,
    resumeAfter: 0,
    outputCredit: { messages: windowOutputs, bytes: 1024 * 1024 },
    openMsMax: plan.deadlineMs,
    lostMsMax,
    random: Math.random,
    now,
    listener: {
      onOpened: ({ streamId: id, nextOutput }, isResumed) => {
        if (isResumed) transcript?.add('server', `resumed stream_id=${id} from seq=${nextOutput - 1}`);
      },
      onOutput: (output, frame) => {
        if (lastAt !== undefined && now() - lastAt > gap.ms)
          gap = { ms: now() - lastAt, beforeOutput: output.sequence };
        lastAt = now();
        outputs.push(frame);
        text += takeOutputText(output) ?? '';
        transcript?.add('server', outputLine(output));
        if (output.sequence === plan.after) parts.onDue();
        stream.acknowledge(output.sequence);
      },
      onLost: ({ name, message }, lastOutput) => {
        losses.push(name);
        transcript?.add('server', `backend unavailable (${message})`);
        transcript?.add('client', `status=${name} reconnecting from seq=${lastOutput}`);
      },
      beforeResume: () => healthReturned(parts),
    },
  });
  void stream.send({ fields: { text: plan.prompt }, bytes: Buffer.byteLength(plan.prompt) }, true);
  try {
    const ended = await stream.whenEnded;
    transcript?.add('server', endedLine(ended));
    return { outputs, text, ended, losses, gap };
  } catch (error) {
    if (!(error instanceof StreamGivenUp)) throw error;
    throw new CommandFailure(`the stream of the drill cannot go on: ${error.message}`);
  } finally {
    stream.leave();
  }
}

/** Resolves when the server says that the model is served. */
async function healthReturned({ url, plan, environment, transcript, isReplaced }: DrillStreamParts): Promise<void> {
  const lostAt = environment.now();
  for (let asked = 1; environment.now() - lostAt < lostMsMax; asked += 1) {
    const { state } = await askHealth(url, plan.model, plan.deadlineMs);
    if (state === 'SERVING') {
      const seconds = ((environment.now() - lostAt) / 1000).toFixed(2);
      const where = isReplaced() ? ' on replacement backend' : '';
      transcript?.add('client', `health state SERVING${where} (${seconds} s after the loss, asked ${asked}x)`);
      return;
    }
    await environment.delay(lookMs);
  }
}

function outputLine(output: OutputJson): string {
  const text = takeOutputText(output);
  if (text !== undefined) return `token seq=${output.sequence} ${JSON.stringify(text)}`;
  return `output seq=${output.sequence}${output.endOfOutput === true ? ' end_of_output=true' : ''}`;
}

function endedLine({ outcome, code = '', message = '' }: EndedJson): string {
  if (outcome === 'done') return 'end_of_stream=true';
  return `ended outcome=${outcome} ${[code, message].filter((part) => part !== '').join(': ')}`;
}
