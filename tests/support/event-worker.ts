/** A worker program that hears by the event loop, as one with an engine of overlapping runs does. Otherwise it is the real one. */
import { onnxruntimeEngine, runWorker } from '@millrace/worker';

runWorker([{ ...onnxruntimeEngine, isConcurrent: true }]);
