/** The worker program for pipelines: it hears its router while they run, unlike the one for graphs. */
import { runWorker } from '../run-worker.ts';
import { pipelineEngine } from './pipeline-engine.ts';
import { messageOf } from './user-error.ts';

// A promise that user code forgot must not end the runs of others; the last lines show in the reason of a death.
process.on('unhandledRejection', (error) => {
  process.stderr.write(`a promise of a pipeline was rejected and nobody waited for it: ${messageOf(error)}\n`);
});

runWorker([pipelineEngine]);
