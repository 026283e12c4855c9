/** A worker program whose engine leaves the outputs of some batches unwritten. */
import { runWorker } from '@millrace/worker';
import { silentEngine } from '@millrace/worker/testing';

runWorker([silentEngine]);
