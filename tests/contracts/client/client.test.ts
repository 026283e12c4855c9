/** The client over every transport that Node has, against a real server. */
import { eventTransport, webSocketTransport } from '@millrace/client';
import { grpcTransport } from '@millrace/client/grpc';
import { WebSocket } from 'ws';
import { clientContract, serveModels } from './client-contract.ts';

serveModels();
clientContract('gRPC', () => grpcTransport());
clientContract('fetch and WebSocket', () => webSocketTransport({ WebSocket }));
clientContract('fetch and events', () => eventTransport());
