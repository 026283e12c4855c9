/** Triton's statistics extension over gRPC. */
import { type RpcMethod, unary } from '@millrace/http';
import type { Statistics } from '../../management/statistics.ts';
import {
  ModelStatisticsRequestSchema,
  ModelStatisticsResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import type { SliceGenerator } from '../slices/slice-queue.ts';
import type { CallTurns } from './call-turns.ts';
import { versionStatistics } from './encode-statistics.ts';
import { codecOf } from './message-codec.ts';
import { encodeInParts, type MessageParts, partsCodec } from './message-parts.ts';

/** Versions whose statistics are written in one turn of the event loop: less than a millisecond. */
export const statisticsPerTurn = 16;

export function statisticsMethods(statistics: Statistics, turns: CallTurns): readonly RpcMethod[] {
  const encode = function* (name: string, version: string): SliceGenerator<MessageParts> {
    return yield* encodeInParts(
      ModelStatisticsResponseSchema,
      statistics.of(name, version),
      statisticsPerTurn,
      (versions) => ({ modelStats: versions.map(versionStatistics) }),
    );
  };
  return [
    unary({
      name: 'ModelStatistics',
      isIdempotent: true,
      request: codecOf(ModelStatisticsRequestSchema),
      response: partsCodec(ModelStatisticsResponseSchema),
      handle: ({ name, version }, call) => turns.run(call, encode(name, version)),
    }),
  ];
}
