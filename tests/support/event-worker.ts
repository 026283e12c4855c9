/** A worker program that reads its socket on the event loop, as workers with overlapping runs do. Otherwise it is the real one. */
import { onnxruntimeEngine, runWorker } from '@millrace/worker';

runWorker([{ ...onnxruntimeEngine, isConcurrent: true }]);
