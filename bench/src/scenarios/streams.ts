/** Durable streams with and without a journal, against streams by grpc-js that have none. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { benchServer, type RunningContestant, startContestants, stopContestants } from '../contestant.ts';
import { callOnce } from '../load/grpc-call.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';
import {
  chunkOutput,
  echoModel,
  generateBody,
  generatePath,
  lastOutput,
  outputFrameTag,
  outputMessage,
} from '../stream-messages.ts';
import { streamRepository } from '../stream-repository.ts';
import { ratioGoals } from './grpc-load.ts';
import {
  journaled,
  type MeasuredOutputs,
  measureOutputs,
  streamContestants,
  unjournaled,
  warmUpOutputs,
} from './stream-outputs.ts';

const count = 20_000;
const ahead = 32;

interface Form {
  readonly name: string;
  readonly ahead: number;
}

const forms: readonly Form[] = [
  { name: 'one input, many outputs', ahead: 0 },
  { name: 'an output for each input', ahead },
];
/** Sends inputs back as they are. */
const baseline = 'grpc-js without a journal';
/** Runs the same model for them as our server does; only this form has one that it could run. */
const baselineWithModel = 'grpc-js with the model, without a journal';

function isMeasured(contestant: string, form: Form): boolean {
  return contestant !== baselineWithModel || form.ahead > 0;
}

function figureName(contestant: string, form: Form): string {
  return `${contestant}, ${form.name}`;
}

/** The outputs of every contestant have the same bytes. */
async function checkOutputs({ name, port }: RunningContestant): Promise<void> {
  const checked = 300;
  const messages = await callOnce(`http://127.0.0.1:${port}`, generatePath, generateBody(checked));
  const outputs = messages.filter((message) => message[0] === outputFrameTag);
  for (let index = 0; index <= checked; index++) {
    const output = index < checked ? chunkOutput(index + 1) : lastOutput(checked + 1);
    const expected = Buffer.from(outputMessage(output));
    const given = outputs[index]?.toString('hex');
    if (given !== expected.toString('hex')) throw new Error(`output ${index + 1} of ${name} is ${given}`);
  }
}

function goalsOf(form: Form): readonly Goal[] {
  const ours = figureName(journaled, form);
  const rivals = [baseline, baselineWithModel].filter((rival) => isMeasured(rival, form));
  return [
    ...rivals.flatMap((rival) =>
      ratioGoals(`${form.name}: journaled at least 1.15x ${rival}`, 1.15, ours, figureName(rival, form), 'output'),
    ),
    ...ratioGoals(
      `${form.name}: journaled at most 30 % slower than without a journal`,
      0.7,
      ours,
      figureName(unjournaled, form),
      'output',
    ),
  ];
}

export const streamsScenario: Scenario = {
  name: 'streams',
  title: `Durable streams over gRPC, ${count} outputs a stream, one stream at a time: one input (a pipeline in a worker), or an input for each output with ${ahead} on the way (inline); all of the server on one core`,
  unit: 'outputs/s',
  contestants: [baseline, journaled, unjournaled, baselineWithModel],
  goals: forms.flatMap(goalsOf),
  open: async (options) => {
    const repository = streamRepository();
    const model = join(repository, echoModel, '1/model.onnx');
    const servers = await startContestants([
      ...streamContestants(baseline, 'grpc-js-streams', repository),
      benchServer(baselineWithModel, 'grpc-js-streams', ['--model', model]),
    ]);
    const load = (server: RunningContestant, form: Form, seconds: number): Promise<MeasuredOutputs> =>
      measureOutputs(server, figureName(server.name, form), 'load/stream-load', [
        ...['--seconds', String(seconds), '--count', String(count), '--ahead', String(form.ahead)],
      ]);
    for (const server of servers) {
      await checkOutputs(server);
      for (const form of forms.filter((each) => isMeasured(server.name, each)))
        await warmUpOutputs(() => load(server, form, options.warmupSeconds));
    }
    return {
      measure: async (): Promise<Sample> => {
        let sample: Sample = {};
        for (const form of forms)
          for (const server of servers) {
            if (isMeasured(server.name, form))
              sample = { ...sample, ...(await load(server, form, options.seconds)).sample };
          }
        return sample;
      },
      close: async () => {
        await stopContestants(servers);
        rmSync(repository, { recursive: true });
      },
    };
  },
};
