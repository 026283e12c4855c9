import { rmSync } from 'node:fs';
import { benchServer } from '../contestant.ts';
import { checkBody, checkPath } from '../grpc-messages.ts';
import type { Scenario } from '../scenario.ts';
import { selfSigned } from '../self-signed.ts';
import { openGrpcLoad } from './grpc-load.ts';
import { mustBeServing } from './grpc-noop.ts';

const shape = { connections: 8, streams: 32 };
const programs = [
  ['grpc-js', 'grpc-js'],
  ['node:http2 and protobufjs', 'node-http2'],
  ['millrace', 'millrace-rpc'],
] as const;

export const tlsScenario: Scenario = {
  name: 'tls',
  title:
    'gRPC, a call that does nothing, 8 connections x 32 streams, plain and over TLS; the wire layer alone on one core',
  unit: 'requests/s',
  contestants: programs.flatMap(([name]) => [name, `${name}, TLS`]),
  needs: ['h2load', 'openssl'],
  goals: [],
  open: async (options) => {
    const { folder, serverArguments } = selfSigned();
    const contestants = programs.flatMap(([name, program]) => [
      benchServer(name, program),
      { ...benchServer(`${name}, TLS`, program, serverArguments), isTls: true },
    ]);
    const load = { contestants, path: checkPath, body: checkBody(), shapes: [shape], check: mustBeServing };
    const opened = await openGrpcLoad(load, options);
    return {
      measure: opened.measure,
      close: async () => {
        await opened.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
};
