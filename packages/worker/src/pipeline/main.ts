/** The worker program for pipelines: it reads messages of its router while they run, unlike the one for graphs. */
import { runWorker } from '../run-worker.ts';
import { pipelineEngine } from './pipeline-engine.ts';
import { messageOf } from './user-error.ts';

// An unhandled rejection of user code must not end other runs; the last lines of stderr are shown when a worker exits.
process.on('unhandledRejection', (error) => {
  process.stderr.write(`unhandled promise rejection in a pipeline: ${messageOf(error)}\n`);
});

runWorker([pipelineEngine]);
