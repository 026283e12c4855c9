/** The client over every transport that Node has, against a real server. tests/interop/browser-client runs the same in browsers. */
import { connectTransport, eventTransport, grpcWebTransport, webSocketTransport } from '@millrace/client';
import { grpcTransport } from '@millrace/client/grpc';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect } from 'vitest';
import { WebSocket } from 'ws';
import { ServerProcess } from '../../support/server-process.ts';
import { clientContract } from './client-contract.ts';
import { cancelledStreams, writeClientModels } from './contract-models.ts';

const repository = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  await writeClientModels(repository);
  server = await ServerProcess.start([repository.path]);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

const asked = () => ({ url: server.url, listsModels: true, cancelledStreams: () => cancelledStreams(server) });

clientContract('gRPC', () => grpcTransport(), asked);
clientContract('fetch and WebSocket', () => webSocketTransport({ WebSocket }), asked);
clientContract('fetch and events', () => eventTransport(), asked);
clientContract('Connect', () => connectTransport(), asked);
clientContract('gRPC-Web', () => grpcWebTransport(), asked);
