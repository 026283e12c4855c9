import type { EmbeddedEngine } from 'millrace';
import { afterAll, beforeAll, expect } from 'vitest';
import { isLong } from '../../long-tests.ts';
import { eventually } from '../../support/eventually.ts';
import { isConnectionRefused } from '../../support/raw-call.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { openConnectFace } from './connect-face.ts';
import { type FaceUnderTest, inferenceContract } from './contract.ts';
import { endingContract } from './ending.ts';
import { openEngineFace } from './engine-face.ts';
import { openGrpcFace } from './grpc-face.ts';
import { openGrpcWebFace } from './grpc-web-face.ts';
import { type InferenceFace, noAnswer } from './inference-face.ts';
import { openRestFace } from './rest-face.ts';
import { Script } from './scripted-model.ts';
import { writeContractModels } from './served-models.ts';
import { engineHarness, serverHarness, startContractEngine, startContractServer } from './server-harness.ts';

let server: ServerProcess;
let engine: EmbeddedEngine;

const served = (name: string, open: () => InferenceFace, lacks: FaceUnderTest['lacks'] = {}): FaceUnderTest => ({
  name,
  open,
  lacks,
  harness: () => serverHarness(server),
});

/** In `npm test` one of REST and one of gRPC: the others decode the same messages in other envelopes. */
const shortFaces = ['REST JSON', 'gRPC'];

const allServed: readonly FaceUnderTest[] = [
  served('REST JSON', () => openRestFace(server.url, 'json'), {
    '16-bit floats': 'the protocol has no JSON form of them',
    'bytes that are not text': 'a JSON string is text',
  }),
  served('REST binary', () => openRestFace(server.url, 'binary')),
  served('gRPC', () => openGrpcFace(server.grpcUrl)),
  served('gRPC-Web', () => openGrpcWebFace(server.url)),
  served('Connect protobuf', () => openConnectFace(server.url, 'proto')),
  served('Connect JSON', () => openConnectFace(server.url, 'json')),
];

const servedFaces = isLong ? allServed : allServed.filter(({ name }) => shortFaces.includes(name));

const embedded: FaceUnderTest = {
  name: 'createEngine',
  open: () => openEngineFace(engine),
  harness: () => engineHarness(engine),
  lacks: {
    'bytes that are not text': 'BYTES outputs are given as strings',
    classification: 'a program sorts the numbers it has itself',
    'free parameters': 'everything the server reads is an option of its own',
    'a limit on messages': 'nothing is read from a wire',
    'answers left unread': 'an answer is a value',
    metrics: 'an engine is given no registry',
  },
};

const script = new Script();
const faces = [...servedFaces, embedded];
const models = writeContractModels(script);

beforeAll(async () => {
  [server, engine] = await Promise.all([startContractServer(models.path), startContractEngine(models.path)]);
});
afterAll(async () => {
  server?.child.kill('SIGKILL');
  await engine?.close();
  models.remove();
  script.remove();
});

for (const subject of faces) inferenceContract(subject, script);

endingContract(servedFaces, script, {
  code: noAnswer,
  harness: () => serverHarness(server),
  begin: async () => {
    server.child.kill('SIGTERM');
    for (const url of [server.url, server.grpcUrl])
      await eventually('it refuses connections', () => isConnectionRefused(url));
  },
  over: async () => expect(await server.exit).toBe(0),
});

endingContract([embedded], script, {
  code: 'draining',
  harness: () => engineHarness(engine),
  begin: async () => void engine.close(),
  over: () => engine.close(),
});
