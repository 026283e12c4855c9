/** Every edge that carries durable streams. */
import type { StreamDialect } from './dialect.ts';
import { events, eventsOfOnePost } from './event-dialects.ts';
import { grpcGenerate, grpcStream } from './grpc-dialects.ts';
import { socketJson, socketProtobuf } from './socket-dialects.ts';
import { connectGenerate, grpcWebGenerate } from './web-dialects.ts';

export const dialects: readonly StreamDialect[] = [
  grpcStream,
  socketJson,
  socketProtobuf,
  events,
  grpcGenerate,
  grpcWebGenerate,
  connectGenerate,
  eventsOfOnePost,
];
