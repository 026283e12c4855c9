/** Statistics as messages. perf_analyzer reads every member, so all are always present. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Duration, VersionStatistics } from '../../management/statistics.ts';
import type {
  ModelStatisticsSchema,
  StatisticDurationSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';

export function versionStatistics(counted: VersionStatistics): MessageInitShape<typeof ModelStatisticsSchema> {
  return {
    name: counted.name,
    version: counted.version,
    lastInference: BigInt(counted.lastAnsweredAt),
    inferenceCount: BigInt(counted.rowsRun),
    executionCount: BigInt(counted.batchesRun),
    inferenceStats: {
      success: durationOf(counted.answered),
      fail: durationOf(counted.failed),
      queue: durationOf(counted.queue),
      computeInput: durationOf(counted.computeInput),
      computeInfer: durationOf(counted.computeInfer),
      computeOutput: durationOf(counted.computeOutput),
      cacheHit: durationOf(counted.cacheHit),
      cacheMiss: durationOf(counted.cacheMiss),
    },
    batchStats: counted.batches.map((batches) => ({
      batchSize: BigInt(batches.rows),
      computeInput: durationOf(batches.computeInput),
      computeInfer: durationOf(batches.computeInfer),
      computeOutput: durationOf(batches.computeOutput),
    })),
    memoryUsage: counted.memory.map(({ type, id, bytes }) => ({ type, id: BigInt(id), byteSize: BigInt(bytes) })),
  };
}

function durationOf({ count, ns }: Duration): MessageInitShape<typeof StatisticDurationSchema> {
  return { count: BigInt(count), ns };
}
