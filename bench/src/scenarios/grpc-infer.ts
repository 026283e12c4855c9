import { benchServer, millraceServing } from '../contestant.ts';
import { expectedOutput } from '../expected-output.ts';
import { grpcInferPath, inferBody, outputFrom } from '../grpc-messages.ts';
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { isNearly } from '../nearly.ts';
import type { BenchOptions, Goal, OpenScenario, Scenario } from '../scenario.ts';
import { type LoadShape, openGrpcLoad, rateName, ratioGoals } from './grpc-load.ts';

const contestants = [
  benchServer('grpc-js', 'grpc-js', ['--model', mlpPath]),
  millraceServing(mlpPath, 'local'),
  millraceServing(mlpPath, 'inline'),
];
const names = contestants.map(({ name }) => name);

async function openMlp(shapes: readonly LoadShape[], options: BenchOptions): Promise<OpenScenario> {
  const rows = mlpRows(1);
  const shape = [1, mlpInputs];
  const expected = await expectedOutput(mlpPath, 'input', shape, rows);
  const check = (messages: readonly Buffer[]): void => {
    if (messages.length !== 1 || !isNearly(outputFrom(messages[0] as Buffer, expected.name), expected.data))
      throw new Error('ModelInfer was answered wrongly');
  };
  const body = inferBody('model', 'input', shape, rows);
  return openGrpcLoad({ contestants, path: grpcInferPath, body, shapes, check }, options);
}

const some = { connections: 8, streams: 8 };
const many = { connections: 8, streams: 32 };

export const grpcInferScenario: Scenario = {
  name: 'grpc-infer',
  title: 'gRPC ModelInfer of one MLP row, by connections x streams; router, worker and all on one core',
  unit: 'requests/s',
  contestants: names,
  needs: ['h2load'],
  goals: [
    ...ratioGoals(
      'local lane, 8x8, at least 4x grpc-js with the model in its process',
      4,
      rateName('millrace, local lane', some),
      rateName('grpc-js', some),
    ),
  ],
  open: (options) => openMlp([some, many], options),
};

const one = { connections: 1, streams: 1 };

function noWorse(lane: string, time: string): Goal {
  const ours = `${rateName(`millrace, ${lane} lane`, one)} ${time}`;
  const baseline = `${rateName('grpc-js', one)} ${time}`;
  const value: Goal['value'] = (medians) => (medians[ours] as number) / (medians[baseline] as number);
  return {
    statement: `${time} of the ${lane} lane no worse than grpc-js's (ratio)`,
    bound: 1,
    isMinimum: false,
    value,
  };
}

export const oneCallerGrpcScenario: Scenario = {
  name: 'one-caller-grpc',
  title: 'gRPC ModelInfer of one MLP row, one caller at a time; all of the server on one core',
  unit: 'requests/s (and ms where the name says so)',
  contestants: names,
  needs: ['h2load'],
  goals: ['local', 'inline'].flatMap((lane) => [noWorse(lane, 'p50 ms'), noWorse(lane, 'p99 ms')]),
  open: (options) => openMlp([one], options),
};
