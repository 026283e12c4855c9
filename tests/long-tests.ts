/**
 * The files that `npm run test:long` runs. `npm test` leaves some of them out, which take minutes of starting and killing
 * servers, and shortens the others, which ask `TEST_LONG` how often to repeat.
 */

/** Whether this run is the long one. */
export const isLong = process.env.TEST_LONG === '1';

/** Not in `npm test`; beside each a file that is, and checks the same part. */
export const leftOutOfShort: Readonly<Record<string, string>> = {
  'tests/chaos/kill-servers.test.ts': 'packages/store/src/lmdb/kill.test.ts',
  'tests/chaos/move-versions.test.ts': 'tests/end-to-end/traffic.test.ts',
  'tests/chaos/streams/reload.test.ts': 'packages/router/src/streams/stream-host.test.ts',
  'tests/end-to-end/attached-workers.test.ts': 'tests/contracts/lane-attached.test.ts',
  'tests/end-to-end/bundled-models.test.ts': 'tests/end-to-end/golden.test.ts',
  'tests/end-to-end/confined-workers.test.ts': 'packages/millrace/src/private-folder/private-folder.test.ts',
  'tests/end-to-end/connection-limits.test.ts': 'packages/millrace/src/open-connection-limiter.test.ts',
  'tests/end-to-end/explicit-ensembles.test.ts': 'tests/end-to-end/explicit-loads.test.ts',
  'tests/end-to-end/faulty-workers.test.ts': 'tests/end-to-end/failures.test.ts',
  'tests/end-to-end/file-inputs.test.ts': 'packages/millrace/src/cli/infer/file-tensor.test.ts',
  'tests/end-to-end/large-tensors.test.ts': 'tests/contracts/lane-local.test.ts',
  'tests/end-to-end/management.test.ts': 'packages/router/src/edges/management/management.test.ts',
  'tests/end-to-end/memory-budget.test.ts': 'packages/core/src/life-cycle/keeper.test.ts',
  'tests/end-to-end/npm-signals.test.ts': 'tests/end-to-end/start-screen.test.ts',
  'tests/end-to-end/pipeline-attacks.test.ts': 'tests/end-to-end/pipelines.test.ts',
  'tests/end-to-end/pipeline-reload.test.ts': 'tests/end-to-end/reload.test.ts',
  'tests/end-to-end/queue-policies.test.ts': 'packages/core/src/scheduler/scheduler.test.ts',
  'tests/end-to-end/readiness.test.ts': 'packages/millrace/src/readiness.test.ts',
  'tests/end-to-end/repository-changes.test.ts': 'tests/end-to-end/reload.test.ts',
  'tests/end-to-end/sequences.test.ts': 'tests/end-to-end/sequence-callers.test.ts',
  'tests/end-to-end/shared-workers.test.ts': 'tests/contracts/shared-worker.test.ts',
  'tests/ways/ways.test.ts': 'tests/tidy/ways.test.ts',
};

/** They repeat less often in `npm test`. */
export const shortenedFiles: readonly string[] = [
  'packages/protocol/src/json/value.test.ts',
  'packages/router/src/edges/rest/remembered-requests.test.ts',
  'packages/router/src/repository/random-configs.test.ts',
  'packages/store/src/lmdb/kill.test.ts',
  'tests/chaos/kill-workers.test.ts',
  'tests/contracts/local-lane-memory.test.ts',
  'tests/end-to-end/kept-memory.test.ts',
  'tests/simulation/simulation.test.ts',
];
