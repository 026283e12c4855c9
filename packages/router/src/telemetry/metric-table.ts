/**
 * Every metric of Millrace: name, type, help, labels. The one source of the registry and of docs/reference/metrics.md.
 */
import { connectionRefusals } from '@millrace/http';
import { errorCatalogue } from '@millrace/protocol';
import { shadowOutcomes } from '../data-plane/traffic/shadow-outcome.ts';
import { latencyBucketsSeconds } from './latency-buckets.ts';
import type { FamilyOf, MetricSpec, MetricsRegistry } from './registry.ts';

export const batchRowsBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] as const;

/** From an idle loop to one that is blocked for seconds; 20 ms is the goal under attack. */
export const loopDelayBucketsSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10] as const;

const ofModel = ['model', 'version'] as const;

export const modelMetrics = {
  requests: {
    name: 'millrace_requests_total',
    type: 'counter',
    help: 'Requests that ended, answered or failed. Requests that named no known model have empty labels.',
    labels: ofModel,
  },
  failures: {
    name: 'millrace_failures_total',
    type: 'counter',
    help: 'Requests that failed, by their code in the error catalogue.',
    labels: ['model', 'version', 'code'],
    values: Object.keys(errorCatalogue),
  },
  requestSeconds: {
    name: 'millrace_request_seconds',
    type: 'histogram',
    help: 'Time of answered requests from admission to answer.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  queueSeconds: {
    name: 'millrace_queue_seconds',
    type: 'histogram',
    help: 'Time that answered requests waited for a batch.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  computeSeconds: {
    name: 'millrace_compute_seconds',
    type: 'histogram',
    help: 'Time the engine ran the batch of each answered request.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  batchRows: {
    name: 'millrace_batch_rows',
    type: 'histogram',
    help: 'Rows of each batch that was run.',
    labels: ofModel,
    buckets: batchRowsBuckets,
  },
  abandonedRequests: {
    name: 'millrace_abandoned_requests_total',
    type: 'counter',
    help: 'Requests that left the queue without being run: `expired`, their deadline or queue timeout passed; `cancelled`, their caller cancelled them.',
    labels: ['model', 'version', 'reason'],
    values: ['expired', 'cancelled'],
  },
  sequencesLive: {
    name: 'millrace_sequences_live',
    type: 'gauge',
    help: 'Sequences that have a slot: from their start to their end or idle time.',
    labels: ofModel,
  },
  sequencesWaiting: {
    name: 'millrace_sequences_waiting',
    type: 'gauge',
    help: 'Sequences that wait for a slot.',
    labels: ofModel,
  },
  sequenceStateBytes: {
    name: 'millrace_sequence_state_bytes',
    type: 'gauge',
    help: 'Bytes of the implicit state that is kept between the steps of sequences.',
    labels: ofModel,
  },
  sequencesEnded: {
    name: 'millrace_sequences_ended_total',
    type: 'counter',
    help: 'Sequences that were run and have ended: `ended` by their caller, `idle` for too long, `failed` because a step failed, `unloaded` with their model, `reclaimed` for an owner with less than its share.',
    labels: ['model', 'version', 'reason'],
    values: ['ended', 'idle', 'failed', 'unloaded', 'reclaimed'],
  },
  skippedBatches: {
    name: 'millrace_skipped_batches_total',
    type: 'counter',
    help: 'Batches that were sent to a worker and not run, because nobody waited for them any more.',
    labels: ofModel,
  },
  savedRows: {
    name: 'millrace_saved_rows_total',
    type: 'counter',
    help: 'Rows that were not run because nobody waited for them any more, in the queue and at workers.',
    labels: ofModel,
  },
  queueRequests: {
    name: 'millrace_queue_requests',
    type: 'gauge',
    help: 'Requests waiting for a batch.',
    labels: ofModel,
  },
  outstandingRequests: {
    name: 'millrace_outstanding_requests',
    type: 'gauge',
    help: 'Requests admitted and not yet ended: waiting or running.',
    labels: ofModel,
  },
  inputBytes: {
    name: 'millrace_input_bytes_total',
    type: 'counter',
    help: 'Bytes of the input tensors of admitted requests.',
    labels: ofModel,
  },
  outputBytes: {
    name: 'millrace_output_bytes_total',
    type: 'counter',
    help: 'Bytes of the output tensors of answered requests.',
    labels: ofModel,
  },
  cacheHits: {
    name: 'millrace_cache_hits_total',
    type: 'counter',
    help: 'Requests answered from the result cache. Shown for models with a cache.',
    labels: ofModel,
  },
  cacheMisses: {
    name: 'millrace_cache_misses_total',
    type: 'counter',
    help: 'Requests that were run because their result was not in the cache.',
    labels: ofModel,
  },
  cacheCoalesced: {
    name: 'millrace_cache_coalesced_total',
    type: 'counter',
    help: 'Requests that waited for the run of an identical request in flight.',
    labels: ofModel,
  },
  shadowRequests: {
    name: 'millrace_shadow_requests_total',
    type: 'counter',
    help: 'Copies of requests sent to a shadow version, by outcome: equal, different, unchecked, failed, dropped.',
    labels: ['model', 'version', 'outcome'],
    values: shadowOutcomes,
  },
  modelReady: {
    name: 'millrace_model_ready',
    type: 'gauge',
    help: '1 while the model version takes requests, 0 while it does not.',
    labels: ofModel,
  },
  modelLoadSeconds: {
    name: 'millrace_model_load_seconds',
    type: 'gauge',
    help: 'Time the last load of the model version took, warm-up included.',
    labels: ofModel,
  },
} as const satisfies Record<string, MetricSpec>;

const ofInstance = ['model', 'version', 'worker'] as const;

/** The memory that requests hold, read from the ledger at each scrape. */
export const memoryMetrics = {
  heldBytes: {
    name: 'millrace_request_memory_bytes',
    type: 'gauge',
    help: 'Memory that requests and unsent answers hold, by part: divided by fair shares, reserved for small requests, and reserved for the request that has waited longest.',
    labels: ['part'],
  },
  limitBytes: {
    name: 'millrace_request_memory_limit_bytes',
    type: 'gauge',
    help: 'The size of each part; together `memory.bytesMax`.',
    labels: ['part'],
  },
  waitingRequests: {
    name: 'millrace_request_memory_waiting_requests',
    type: 'gauge',
    help: 'Requests whose body is not read for now because their caller has used its share of the memory.',
    labels: [],
  },
  bodyBytes: {
    name: 'millrace_body_memory_bytes',
    type: 'gauge',
    help: 'Memory for large bodies: lent to requests, which counts as held by them, free for later ones (at most `memory.freeBytesMax`), and placed: lent in the memory that a worker reads.',
    labels: ['state'],
  },
} as const;

/** The state of the scheduler, read at each scrape. */
export const schedulerMetrics = {
  breakerState: {
    name: 'millrace_instance_breaker_state',
    type: 'gauge',
    help: "State of the instance's breaker: 0 closed, it gets batches; 1 half-open, it gets one batch as a test; 2 open, it gets none while another instance can take them.",
    labels: ofInstance,
  },
  instanceBatches: {
    name: 'millrace_instance_outstanding_batches',
    type: 'gauge',
    help: 'Batches that the instance holds, the running one included.',
    labels: ofInstance,
  },
  instanceRowSeconds: {
    name: 'millrace_instance_row_seconds',
    type: 'gauge',
    help: 'Recent time per row in full batches on the instance; absent before the first batch.',
    labels: ofInstance,
  },
  queueWaitSeconds: {
    name: 'millrace_queue_wait_seconds',
    type: 'gauge',
    help: 'Estimated queue wait of a request that comes now; absent before the first batch.',
    labels: ofModel,
  },
  batchRowsMax: {
    name: 'millrace_batch_rows_max',
    type: 'gauge',
    help: 'The most rows that a batch may have now: max_batch_size, or less where a latency target requires it.',
    labels: ofModel,
  },
  instancesInUse: {
    name: 'millrace_instances_in_use',
    type: 'gauge',
    help: 'Instances that get batches: all of them, or fewer where a latency target requires it.',
    labels: ofModel,
  },
} as const satisfies Record<string, MetricSpec>;

/** The same values under Triton's names, so that dashboards and autoscalers made for it keep working. */
export const tritonMetrics = {
  success: {
    name: 'nv_inference_request_success',
    type: 'counter',
    help: 'Requests answered (Triton name).',
    labels: ofModel,
  },
  failure: {
    name: 'nv_inference_request_failure',
    type: 'counter',
    help: 'Requests failed, by reason: REJECTED, CANCELED, BACKEND or OTHER (Triton name).',
    labels: ['model', 'version', 'reason'],
    values: ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'],
  },
  count: {
    name: 'nv_inference_count',
    type: 'counter',
    help: 'Rows run (Triton name).',
    labels: ofModel,
  },
  executions: {
    name: 'nv_inference_exec_count',
    type: 'counter',
    help: 'Batches run (Triton name).',
    labels: ofModel,
  },
  requestMicros: {
    name: 'nv_inference_request_duration_us',
    type: 'counter',
    help: 'Cumulative time of answered requests in microseconds (Triton name).',
    labels: ofModel,
  },
  queueMicros: {
    name: 'nv_inference_queue_duration_us',
    type: 'counter',
    help: 'Cumulative waiting time of answered requests in microseconds (Triton name).',
    labels: ofModel,
  },
  computeInputMicros: {
    name: 'nv_inference_compute_input_duration_us',
    type: 'counter',
    help: 'Cumulative time to lay out inputs, per answered request, in microseconds (Triton name).',
    labels: ofModel,
  },
  computeInferMicros: {
    name: 'nv_inference_compute_infer_duration_us',
    type: 'counter',
    help: 'Cumulative engine time, per answered request, in microseconds (Triton name).',
    labels: ofModel,
  },
  computeOutputMicros: {
    name: 'nv_inference_compute_output_duration_us',
    type: 'counter',
    help: 'Cumulative time to split outputs, per answered request, in microseconds (Triton name).',
    labels: ofModel,
  },
  cacheHits: {
    name: 'nv_cache_num_hits_per_model',
    type: 'counter',
    help: 'Requests answered without a run of their own, from the cache or by an identical request in flight (Triton name).',
    labels: ofModel,
  },
  cacheMisses: {
    name: 'nv_cache_num_misses_per_model',
    type: 'counter',
    help: 'Requests that were run because their result was not in the cache (Triton name).',
    labels: ofModel,
  },
  cacheHitMicros: {
    name: 'nv_cache_hit_duration_per_model',
    type: 'counter',
    help: 'Cumulative time of requests answered without a run of their own, in microseconds (Triton name).',
    labels: ofModel,
  },
  cacheMissMicros: {
    name: 'nv_cache_miss_duration_per_model',
    type: 'counter',
    help: 'Cumulative time of cache lookups that missed, in microseconds (Triton name).',
    labels: ofModel,
  },
  pending: {
    name: 'nv_inference_pending_request_count',
    type: 'gauge',
    help: 'Requests waiting for a batch (Triton name).',
    labels: ofModel,
  },
} as const satisfies Record<string, MetricSpec>;

/** The life cycle of models: loads, evictions, loads on demand and memory. */
export const lifeCycleMetrics = {
  rowVerdict: {
    name: 'millrace_model_row_verdict',
    type: 'gauge',
    help: 'Always 1: whether requests of a version share runs (`yes` or `no`), and what the analysis of its graph found about its rows (`independent`, `dependent` or `unknown`).',
    labels: ['model', 'version', 'verdict', 'shares'],
  },
  loads: {
    name: 'millrace_loads_total',
    type: 'counter',
    help: 'Loads that were started: of a model version, or of all that share a worker group.',
    labels: [],
  },
  loadFailures: {
    name: 'millrace_load_failures_total',
    type: 'counter',
    help: 'Loads that failed.',
    labels: [],
  },
  evictions: {
    name: 'millrace_evictions_total',
    type: 'counter',
    help: 'Evictions of the model version, to make room in the memory budget.',
    labels: ofModel,
  },
  demandLoads: {
    name: 'millrace_demand_loads_total',
    type: 'counter',
    help: 'Loads that requests waited for.',
    labels: [],
  },
  demandSeconds: {
    name: 'millrace_demand_seconds',
    type: 'histogram',
    help: 'Time that the first request waiting for a load on demand waited for it.',
    labels: [],
    buckets: latencyBucketsSeconds,
  },
  modelMemory: {
    name: 'millrace_model_memory_bytes',
    type: 'gauge',
    help: 'Resident memory of the worker processes of the model version, as last measured; 0 while it has none.',
    labels: ofModel,
  },
  memoryUsed: {
    name: 'millrace_memory_used_bytes',
    type: 'gauge',
    help: 'Memory that counts against the memory budget: all models in memory, and the expected memory of loads in progress.',
    labels: [],
  },
  memoryBudget: {
    name: 'millrace_memory_budget_bytes',
    type: 'gauge',
    help: 'The memory budget; 0: no budget.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

/** Durable streams. None of them has the model as a label, so that each is bound once. */
export const streamMetrics = {
  streams: {
    name: 'millrace_streams',
    type: 'gauge',
    help: 'Streams of this router: `attached` to a client, `detached` and waiting for a resume, or `ended` and not yet left to the journal.',
    labels: ['state'],
    values: ['attached', 'detached', 'ended'],
  },
  opened: {
    name: 'millrace_streams_opened_total',
    type: 'counter',
    help: 'Streams that were opened anew.',
    labels: [],
  },
  refused: {
    name: 'millrace_streams_refused_total',
    type: 'counter',
    help: 'Opens and resumes that were refused, by their code in the error catalogue.',
    labels: ['code'],
    values: Object.keys(errorCatalogue),
  },
  ended: {
    name: 'millrace_streams_ended_total',
    type: 'counter',
    help: 'Streams that ended, by outcome (`done`, `failed`, `cancelled`, `expired`) and code in the error catalogue, which is empty if the outcome is `done`.',
    labels: ['outcome', 'code'],
  },
  expired: {
    name: 'millrace_streams_expired_total',
    type: 'counter',
    help: 'Streams that ended by a time limit: `life-time`, they were open for `streams.lifeSecondsMax`; `resume-window`, no client resumed them within `streams.resumeSeconds`.',
    labels: ['limit'],
    values: ['life-time', 'resume-window'],
  },
  resumed: {
    name: 'millrace_stream_resumes_total',
    type: 'counter',
    help: 'Resumes: `reconnect`, the stream had no client; `router-restart`, it is the first client after the stream was restored from the journal; `take-over`, an earlier connection was still attached and was closed.',
    labels: ['cause'],
    values: ['reconnect', 'router-restart', 'take-over'],
  },
  resumeGapSeconds: {
    name: 'millrace_stream_resume_gap_seconds',
    type: 'histogram',
    help: 'Time that a resumed client was without the stream: from the detach (after a restart of the router: from the restore; for a take-over: from the `opened` frame) to the first output or `ended` frame, or to `opened` if nothing was owed.',
    labels: [],
    buckets: latencyBucketsSeconds,
  },
  repeatedSteps: {
    name: 'millrace_stream_repeated_steps_total',
    type: 'counter',
    help: 'Steps that ran again: after the death of a worker, or after a restart for inputs that have outputs in the journal.',
    labels: [],
  },
  replayedOutputs: {
    name: 'millrace_stream_replayed_outputs_total',
    type: 'counter',
    help: 'Journaled outputs of the inputs that ran again: they are compared and not sent again.',
    labels: [],
  },
  postponedSteps: {
    name: 'millrace_stream_postponed_steps_total',
    type: 'counter',
    help: 'Refusals of steps for want of capacity, or because the model was loading; each is asked again after a pause, or when the model is ready.',
    labels: [],
  },
  workersLost: {
    name: 'millrace_stream_workers_lost_total',
    type: 'counter',
    help: 'Deaths of workers that a stream had to handle. A step without an output yet is run again by the scheduler, unseen.',
    labels: [],
  },
  lateInputs: {
    name: 'millrace_stream_late_inputs_total',
    type: 'counter',
    help: 'Inputs whose event time was before the watermark, whatever `streams.lateInputs` made of them.',
    labels: [],
  },
  journalLogs: {
    name: 'millrace_stream_journal_logs',
    type: 'gauge',
    help: 'Streams in the journal, ended ones that are still kept included.',
    labels: [],
  },
  journalBytes: {
    name: 'millrace_stream_journal_bytes',
    type: 'gauge',
    help: 'Bytes in the journal of streams, as its limits count them.',
    labels: [],
  },
  journalBytesMax: {
    name: 'millrace_stream_journal_max_bytes',
    type: 'gauge',
    help: 'Most bytes in the journal of streams; 0 before the first stream.',
    labels: [],
  },
  journalPauses: {
    name: 'millrace_stream_journal_pauses_total',
    type: 'counter',
    help: 'How often a stream began to wait because the streams of its caller held their share of the journal.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

export const serverMetrics = {
  buildInfo: {
    name: 'millrace_build_info',
    type: 'gauge',
    help: 'Always 1; the labels have the versions of Millrace and Node.js.',
    labels: ['version', 'node'],
  },
  workers: {
    name: 'millrace_workers',
    type: 'gauge',
    help: 'Worker processes by state: starting, ready or stopping, or standby: it waits for a model.',
    labels: ['state'],
  },
  workerRestarts: {
    name: 'millrace_worker_restarts_total',
    type: 'counter',
    help: 'Workers started to replace one that exited or was killed for running too long.',
    labels: [],
  },
  cacheBytes: {
    name: 'millrace_cache_bytes',
    type: 'gauge',
    help: 'Bytes in the result cache, of all models together.',
    labels: [],
  },
  cacheEntries: {
    name: 'millrace_cache_entries',
    type: 'gauge',
    help: 'Results in the result cache, of all models together.',
    labels: [],
  },
  cacheEvictions: {
    name: 'millrace_cache_evictions_total',
    type: 'counter',
    help: 'Results that were evicted from the cache for others, or because they were too old.',
    labels: [],
  },
  seriesDropped: {
    name: 'millrace_metric_series_dropped_total',
    type: 'counter',
    help: 'Series that are not shown because their metric has reached its maximum number of series.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

export const connectionMetrics = {
  connections: {
    name: 'millrace_connections',
    type: 'gauge',
    help: 'Open connections on all ports, TLS handshakes in progress included.',
    labels: [],
  },
  handshakes: {
    name: 'millrace_tls_handshakes',
    type: 'gauge',
    help: 'TLS handshakes in progress.',
    labels: [],
  },
  refused: {
    name: 'millrace_connections_refused_total',
    type: 'counter',
    help: 'Connections that were refused, by the limit that was reached; `descriptors` is the limit of open files.',
    labels: ['limit'],
    values: connectionRefusals,
  },
  evicted: {
    name: 'millrace_connections_evicted_total',
    type: 'counter',
    help: 'Idle connections and stalled TLS handshakes that were closed to make room for others.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

/** Under the names that Node.js dashboards already read. */
export const processMetrics = {
  cpuSeconds: {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'User and system CPU time of the router process.',
    labels: [],
  },
  startSeconds: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'Start of the router process in seconds since the Unix epoch.',
    labels: [],
  },
  restarts: {
    name: 'millrace_router_restarts_total',
    type: 'counter',
    help: 'Routers that the supervisor has started after another had died; 0 without a supervisor.',
    labels: [],
  },
  polls: {
    name: 'millrace_event_loop_polls_total',
    type: 'counter',
    help: 'Times that the router polled for the next event of one caller instead of sleeping.',
    labels: [],
  },
  pollingPauses: {
    name: 'millrace_event_loop_polling_pauses_total',
    type: 'counter',
    help: 'Times that polling was paused because another thread took the core that the router offered.',
    labels: [],
  },
  residentBytes: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory of the router process.',
    labels: [],
  },
  openFiles: {
    name: 'process_open_fds',
    type: 'gauge',
    help: 'Open file descriptors of the router process (Linux).',
    labels: [],
  },
  openFilesMax: {
    name: 'process_max_fds',
    type: 'gauge',
    help: 'Most file descriptors the router process may open (Linux).',
    labels: [],
  },
  heapUsedBytes: {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    help: 'JavaScript heap in use.',
    labels: [],
  },
  heapTotalBytes: {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    help: 'JavaScript heap reserved.',
    labels: [],
  },
  externalBytes: {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    help: 'Memory of buffers outside the JavaScript heap.',
    labels: [],
  },
  loopDelaySeconds: {
    name: 'millrace_event_loop_delay_seconds',
    type: 'histogram',
    help: 'Delay of the event loop, sampled every 10 ms, of an idle router every 100 ms. A scrape does not reset it, unlike the gauges.',
    labels: [],
    buckets: loopDelayBucketsSeconds,
  },
  loopLagMean: {
    name: 'nodejs_eventloop_lag_mean_seconds',
    type: 'gauge',
    help: 'Mean delay of the event loop since the previous scrape.',
    labels: [],
  },
  loopLagP99: {
    name: 'nodejs_eventloop_lag_p99_seconds',
    type: 'gauge',
    help: '99th percentile of the delay of the event loop since the previous scrape.',
    labels: [],
  },
  loopLagMax: {
    name: 'nodejs_eventloop_lag_max_seconds',
    type: 'gauge',
    help: 'Longest delay of the event loop since the previous scrape.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

export type Families<Table extends Record<string, MetricSpec>> = {
  readonly [Key in keyof Table]: FamilyOf<Table[Key]>;
};

export function registerAll<Table extends Record<string, MetricSpec>>(
  registry: MetricsRegistry,
  table: Table,
): Families<Table> {
  const families = Object.entries(table).map(([key, spec]) => [key, registry.register(spec)] as const);
  return Object.fromEntries(families) as Families<Table>;
}
