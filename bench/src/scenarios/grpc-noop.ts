import { benchServer, millraceServing } from '../contestant.ts';
import { checkBody, checkPath } from '../grpc-messages.ts';
import { mlpPath } from '../mlp.ts';
import type { Scenario } from '../scenario.ts';
import { openGrpcLoad, rateName, ratioGoals } from './grpc-load.ts';

const few = { connections: 1, streams: 32 };
const many = { connections: 8, streams: 32 };
const ours = { ...millraceServing(mlpPath, 'local'), name: 'millrace' };
const contestants = [benchServer('grpc-js', 'grpc-js'), benchServer('node:http2 and protobufjs', 'node-http2'), ours];

/** Every contestant answers SERVING, in the two bytes that takes. */
export function mustBeServing(messages: readonly Buffer[]): void {
  if (messages.length !== 1 || messages[0]?.toString('hex') !== '0801')
    throw new Error(`the health check was answered ${messages.map((message) => message.toString('hex')).join()}`);
}

export const grpcNoopScenario: Scenario = {
  name: 'grpc-noop',
  title: 'gRPC, a call that does nothing (health Check), by connections x streams, one core serving',
  unit: 'requests/s',
  contestants: contestants.map(({ name }) => name),
  needs: ['h2load'],
  goals: [many, few].flatMap((shape) => {
    const bound = shape === many ? 8 : 6;
    const names = [rateName('millrace', shape), rateName('grpc-js', shape)] as const;
    return ratioGoals(`${names[0]} at least ${bound}x grpc-js`, bound, ...names);
  }),
  open: (options) =>
    openGrpcLoad(
      { contestants, path: checkPath, body: checkBody(), shapes: [few, many], check: mustBeServing },
      options,
    ),
};
