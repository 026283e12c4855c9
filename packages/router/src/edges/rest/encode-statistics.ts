/** Statistics as Triton's clients read them. perf_analyzer exits when a member is missing, so all are always present. */
import type { HttpResponse } from '@millrace/http';
import type { JsonValue } from '@millrace/protocol';
import type { BatchStatistics, Duration, VersionStatistics } from '../../management/statistics.ts';
import { jsonResponse } from './encode-model.ts';

export function encodeStatistics(versions: readonly VersionStatistics[]): HttpResponse {
  return jsonResponse({ model_stats: versions.map(versionStatistics) });
}

function versionStatistics(counted: VersionStatistics): JsonValue {
  return {
    name: counted.name,
    version: counted.version,
    last_inference: counted.lastAnsweredAt,
    inference_count: counted.rowsRun,
    execution_count: counted.batchesRun,
    inference_stats: {
      success: durationOf(counted.answered),
      fail: durationOf(counted.failed),
      queue: durationOf(counted.queue),
      compute_input: durationOf(counted.computeInput),
      compute_infer: durationOf(counted.computeInfer),
      compute_output: durationOf(counted.computeOutput),
      cache_hit: durationOf(counted.cacheHit),
      cache_miss: durationOf(counted.cacheMiss),
    },
    // Of models that answer one request several times.
    response_stats: {},
    batch_stats: counted.batches.map(batchStatistics),
    memory_usage: counted.memory.map(({ type, id, bytes }) => ({ type, id, byte_size: bytes })),
  };
}

function batchStatistics({ rows, computeInput, computeInfer, computeOutput }: BatchStatistics): JsonValue {
  return {
    batch_size: rows,
    compute_input: durationOf(computeInput),
    compute_infer: durationOf(computeInfer),
    compute_output: durationOf(computeOutput),
  };
}

/** Nanoseconds are written as whole numbers whatever their size. */
function durationOf({ count, ns }: Duration): JsonValue {
  return { count, ns };
}
