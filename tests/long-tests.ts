/**
 * The files that `npm run test:long` runs. `npm test` leaves some of them out, which take minutes of starting and killing
 * servers, and shortens the others: they ask `TEST_LONG` how often to repeat, or which of their tests to run.
 */

/** Whether this run is the long one. */
export const isLong = process.env.TEST_LONG === '1';

/** Not in `npm test`; beside each a file that is, and checks the same part. */
export const leftOutOfShort: Readonly<Record<string, string>> = {
  'packages/onnx/src/rows/mutations.test.ts': 'packages/onnx/src/trap-corpus.test.ts',
  'tests/chaos/kill-servers.test.ts': 'packages/store/src/lmdb/kill.test.ts',
  'tests/chaos/move-versions.test.ts': 'tests/end-to-end/traffic.test.ts',
  'tests/chaos/streams/reload.test.ts': 'packages/router/src/streams/stream-host.test.ts',
  'tests/contracts/local-lane-process.test.ts': 'tests/contracts/lane-local.test.ts',
  'tests/end-to-end/attached-workers.test.ts': 'tests/contracts/lane-attached.test.ts',
  'tests/end-to-end/bundled-models.test.ts': 'tests/end-to-end/golden.test.ts',
  'tests/end-to-end/cache.test.ts': 'packages/router/src/data-plane/cache/caching-runner.test.ts',
  'tests/end-to-end/cancelled-callers.test.ts': 'tests/contracts/inference-edge/inference-edge.test.ts',
  'tests/end-to-end/confined-workers.test.ts': 'packages/millrace/src/private-folder/private-folder.test.ts',
  'tests/end-to-end/connection-limits.test.ts': 'packages/millrace/src/open-connection-limiter.test.ts',
  'tests/end-to-end/empty-repository.test.ts': 'packages/millrace/src/readiness.test.ts',
  'tests/end-to-end/event-streams.test.ts': 'packages/router/src/edges/sse/edge.test.ts',
  'tests/end-to-end/explicit-ensembles.test.ts': 'tests/end-to-end/explicit-loads.test.ts',
  'tests/end-to-end/faulty-workers.test.ts': 'tests/end-to-end/failures.test.ts',
  'tests/end-to-end/file-inputs.test.ts': 'packages/millrace/src/cli/infer/file-tensor.test.ts',
  'tests/end-to-end/foreign-pages.test.ts': 'packages/router/src/edges/gate/gate.test.ts',
  'tests/end-to-end/kept-memory.test.ts': 'packages/router/src/edges/rest/remembered-requests.test.ts',
  'tests/end-to-end/large-tensors.test.ts': 'tests/contracts/lane-local.test.ts',
  'tests/end-to-end/management.test.ts': 'packages/router/src/edges/management/management.test.ts',
  'tests/end-to-end/memory-budget.test.ts': 'packages/core/src/life-cycle/keeper.test.ts',
  'tests/end-to-end/npm-signals.test.ts': 'packages/millrace/src/cli/signals.test.ts',
  'tests/end-to-end/path-redaction.test.ts': 'packages/router/src/catalogue/path-redaction.test.ts',
  'tests/end-to-end/pipeline-attacks.test.ts': 'tests/end-to-end/pipelines.test.ts',
  'tests/end-to-end/pipeline-reload.test.ts': 'tests/end-to-end/reload.test.ts',
  'tests/end-to-end/plain-onnx.test.ts': 'tests/end-to-end/golden.test.ts',
  'tests/end-to-end/queue-policies.test.ts': 'packages/core/src/scheduler/scheduler.test.ts',
  'tests/end-to-end/readiness.test.ts': 'packages/millrace/src/readiness.test.ts',
  'tests/end-to-end/repository-changes.test.ts': 'tests/end-to-end/reload.test.ts',
  'tests/end-to-end/router-libraries.test.ts': 'tests/contracts/lane-inline.test.ts',
  'tests/end-to-end/scheduling.test.ts': 'packages/core/src/scheduler/scheduler.test.ts',
  'tests/end-to-end/sequences.test.ts': 'tests/end-to-end/sequence-callers.test.ts',
  'tests/end-to-end/shared-workers.test.ts': 'tests/contracts/shared-worker.test.ts',
  'tests/end-to-end/shutdown.test.ts': 'tests/contracts/inference-edge/inference-edge.test.ts',
  'tests/end-to-end/start-line.test.ts': 'packages/millrace/src/cli/serve.test.ts',
  'tests/end-to-end/start-screen.test.ts': 'packages/millrace/src/cli/start-screen.test.ts',
  'tests/end-to-end/stream-examples.test.ts': 'tests/end-to-end/stream-websocket.test.ts',
  'tests/end-to-end/stream-operations.test.ts': 'tests/end-to-end/stream-websocket.test.ts',
  'tests/end-to-end/unknown-models.test.ts': 'tests/contracts/inference-edge/inference-edge.test.ts',
  'tests/end-to-end/worker-output.test.ts': 'tests/end-to-end/pipelines.test.ts',
  'tests/ways/ways.test.ts': 'tests/tidy/ways.test.ts',
};

/** They repeat less often in `npm test`, or leave out tests that are like others of them. */
export const shortenedFiles: readonly string[] = [
  'packages/http/src/http1/repeated-heads.test.ts',
  'packages/onnx/src/read-onnx-graph.test.ts',
  'packages/onnx/src/zip-map.test.ts',
  'packages/protocol/src/json/scan-number.test.ts',
  'packages/protocol/src/json/tensor-numbers.test.ts',
  'packages/protocol/src/json/value.test.ts',
  'packages/router/src/edges/grpc/infer-message.test.ts',
  'packages/router/src/edges/rest/mutation.test.ts',
  'packages/router/src/edges/rest/remembered-requests.test.ts',
  'packages/router/src/repository/random-configs.test.ts',
  'packages/store/src/lmdb/journal-kill.test.ts',
  'packages/store/src/lmdb/kill.test.ts',
  'tests/chaos/kill-workers.test.ts',
  'tests/contracts/inference-edge/inference-edge.test.ts',
  'tests/contracts/lane-local.test.ts',
  'tests/contracts/local-lane-memory.test.ts',
  'tests/end-to-end/supervisor.test.ts',
  'tests/simulation/simulation.test.ts',
];
