/**
 * A worker program with faults: it dies of magic values among its inputs, at once or by its own end, and of a load, or hangs in it, when a file
 * beside the model says so; it fails its runs while a file of its own says so. Otherwise it is the real one. It is given to a lane as the path of its worker.
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

/** As a load that never ends would: something of it keeps the process alive. */
function hang(): Promise<never> {
  return new Promise(() => setInterval(() => {}, 60_000));
}

/** As a segmentation fault would: without a word, in the midst of things. */
function die(): void {
  process.kill(process.pid, 'SIGSEGV');
  // A debugger or a sanitizer may hold such a signal back; the fault must not.
  process.kill(process.pid, 'SIGKILL');
}

runWorker([faultyEngine]);
