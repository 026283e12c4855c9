/** Triton's statistics extension over gRPC. */
import { type RpcMethod, unary } from '@millrace/http';
import type { Statistics } from '../../management/statistics.ts';
import { encodeStatistics } from './encode-statistics.ts';
import { ModelStatisticsRequestSchema, ModelStatisticsResponseSchema } from './generated/inference/grpc_service_pb.ts';
import { codecOf } from './message-codec.ts';

export function statisticsMethods(statistics: Statistics): readonly RpcMethod[] {
  return [
    unary({
      name: 'ModelStatistics',
      isIdempotent: true,
      request: codecOf(ModelStatisticsRequestSchema),
      response: codecOf(ModelStatisticsResponseSchema),
      handle: ({ name, version }) => encodeStatistics(statistics.of(name, version)),
    }),
  ];
}
