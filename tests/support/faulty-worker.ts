/**
 * A worker program with faults: magic values among its inputs make it crash or exit; a file beside the model makes it exit or hang during the
 * load; a file for its process makes its runs fail. Otherwise it is the real one. It is passed to a lane as the path of its worker.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { elementsOf, InferenceError } from '@millrace/protocol';
import { type Engine, onnxruntimeEngine, ProcessSpoiled, runWorker } from '@millrace/worker';
import { crashFile, hangFile, poisonValue, sickFileOf, spoilingValue } from './faults.ts';

const faultyEngine: Engine = {
  name: 'onnxruntime',
  async load(spec) {
    const folder = dirname(spec.path);
    if (existsSync(join(folder, crashFile))) die();
    if (existsSync(join(folder, hangFile))) await hang();
    const session = await onnxruntimeEngine.load(spec);
    return {
      run(request) {
        const isGiven = (value: number): boolean =>
          request.inputs.some(({ index, data }) => {
            const datatype = spec.inputs[index]?.datatype;
            return datatype === 'FP32' && elementsOf({ datatype, data }).includes(value);
          });
        if (isGiven(poisonValue)) die();
        if (isGiven(spoilingValue)) throw new ProcessSpoiled('the device is lost');
        if (existsSync(sickFileOf(process.pid, process.ppid)))
          throw new InferenceError('inference-failed', 'the device is out of order');
        return session.run(request);
      },
      unload: () => session.unload(),
    };
  },
};

/** Like a load that never ends: a timer keeps the process alive. */
function hang(): Promise<never> {
  return new Promise(() => setInterval(() => {}, 60_000));
}

/** Like a segmentation fault: at once and without a message. */
function die(): void {
  process.kill(process.pid, 'SIGSEGV');
  // A debugger or a sanitizer may intercept such a signal; the process must end anyway.
  process.kill(process.pid, 'SIGKILL');
}

runWorker([faultyEngine]);
