/**
 * Many calls in flight through the data plane, without a socket; then, where asked, a bare loop that writes batches of
 * the same mean size to the same kind of worker over the local lane. Prints one JSON line.
 */

import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { type FromWorker, neverCancelled, type Tensor, type WorkerLink } from '@millrace/protocol';
import {
  createLocalLane,
  type ModelObserver,
  scanRepository,
  silentLibraryListener,
  silentObserver,
} from '@millrace/router/internal';
import { inferRequest } from '@millrace/router/testing';
import { resolveConfig } from 'millrace';
import { assemble, modelDefaultsFrom } from 'millrace/internal';
import { moveTo } from '../pinned-process.ts';
import { inputRowsFor, mustFindSubject, subjectRepository } from '../subject.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    /**
     * So many small batches before all callers come: router and worker compile what they run often, at the expense of
     * what they run.
     */
    'warm-up-batches': { type: 'string', default: '0' },
    /** Then so long with all callers, and so long of the bare loop, before either is measured. */
    'warm-up-seconds': { type: 'string', default: '0.5' },
    'in-flight': { type: 'string', default: '64' },
    'rows-per-call': { type: 'string', default: '1' },
    'rows-max': { type: 'string', default: '64' },
    model: { type: 'string', default: 'mlp' },
    lane: { type: 'string', default: 'local' },
    threads: { type: 'string', default: '1' },
    /** The worker is moved to this core; without it router and worker share theirs. */
    'worker-core': { type: 'string' },
    /** Also run the bare loop. */
    bare: { type: 'boolean', default: false },
  },
});
/** One runs while the other waits. */
const warmUpCallers = 2;
const seconds = Number(values.seconds);
const warmUpMs = Number(values['warm-up-seconds']) * 1000;
const inFlight = Number(values['in-flight']);
const rowsPerCall = Number(values['rows-per-call']);
const subject = mustFindSubject(values.model);
const config = resolveConfig({
  options: { worker: { lane: values.lane as 'local' | 'inline', threads: Number(values.threads) } },
  cwd: process.cwd(),
});
const repository = subjectRepository(subject, Number(values['rows-max']));
const scan = await scanRepository([repository], { defaults: modelDefaultsFrom(config) });

async function throughDataPlane(): Promise<{ rowsPerSecond: number; meanBatchRows: number; workerMicros: number }> {
  let batches = 0;
  let workerPid: number | undefined;
  let batchRows = 0;
  const counting: ModelObserver = {
    ...silentObserver.observerFor(subject.name, '1'),
    batchRan: (rows) => {
      batches += 1;
      batchRows += rows;
    },
  };
  let modelReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    modelReady = resolve;
  });
  const { dataPlane, library, fleet } = await assemble({
    paths: [repository],
    config,
    observer: { ...silentObserver, observerFor: () => counting },
    listener: {
      ...silentLibraryListener,
      modelReady,
      modelFailed: (_, reason) => {
        throw new Error(reason);
      },
      workerStarted: (_group, _worker, pid) => {
        workerPid = pid;
        moveToCore(pid);
      },
    },
    onSharedMemoryUnavailable: () => {},
  });
  library.start();
  await ready;
  const input: Tensor = {
    name: subject.input,
    datatype: 'FP32',
    shape: [rowsPerCall, ...subject.rowShape],
    data: new Uint8Array(inputRowsFor(subject, rowsPerCall).buffer),
  };
  const request = inferRequest({
    model: subject.name,
    inputs: [input],
  });
  let calls = 0;
  let isOver = false;
  let batchesMax = Number.POSITIVE_INFINITY;
  const caller = async (): Promise<void> => {
    while (!isOver && batches < batchesMax) {
      const answer = await dataPlane.inference.infer(request, neverCancelled);
      answer.release();
      calls += 1;
    }
  };
  const run = async (milliseconds: number): Promise<number> => {
    const begin = performance.now();
    isOver = false;
    setTimeout(() => {
      isOver = true;
    }, milliseconds);
    calls = 0;
    await Promise.all(Array.from({ length: inFlight }, caller));
    return (calls * rowsPerCall * 1000) / (performance.now() - begin);
  };
  batchesMax = Number(values['warm-up-batches']);
  await Promise.all(Array.from({ length: warmUpCallers }, caller));
  batchesMax = Number.POSITIVE_INFINITY;
  await run(warmUpMs);
  batches = 0;
  batchRows = 0;
  const before = processorMs(workerPid);
  const rowsPerSecond = await run(seconds * 1000);
  const workerMicros = ((processorMs(workerPid) - before) * 1000) / batches;
  await fleet.stop();
  return { rowsPerSecond, meanBatchRows: batchRows / batches, workerMicros };
}

/** As many rows in flight as the callers had, in batches of this many. */
async function bareLoop(rows: number): Promise<number> {
  const version = scan.models[0]?.versions[0];
  if (version === undefined) throw new Error('no model was found');
  const lane = createLocalLane({
    workerPath: createRequire(import.meta.url).resolve('@millrace/worker/main'),
    sharedMemoryBytesMax: config.worker.sharedMemoryBytes,
  });
  const data = new Uint8Array(inputRowsFor(subject, rows).buffer);
  const outstanding = Math.max(1, Math.round((inFlight * rowsPerCall) / rows));
  let link: WorkerLink | undefined;
  let batch = 0;
  let answered = 0;
  let end = Number.POSITIVE_INFINITY;
  const send = (): void => {
    batch += 1;
    const region = (link as WorkerLink).lend(data.byteLength);
    region.bytes.set(data);
    const inputs = [{ index: 0, shape: [rows, ...subject.rowShape], data: region.bytes }];
    (link as WorkerLink).send({ kind: 'dispatch', batch, model: 1, inputs, outputs: [0], region });
  };
  let now = 0;
  let warmAt = 0;
  let begin = 0;
  let elapsedMs = 0;
  await new Promise<void>((resolve) => {
    let credit = 0;
    const receive = (message: FromWorker): void => {
      switch (message.kind) {
        case 'credit':
          credit = message.batchesMax;
          break;
        case 'ready':
          for (let index = 0; index < Math.min(credit, outstanding); index++) send();
          break;
        case 'answered':
          message.region.release();
          now = performance.now();
          if (warmAt === 0) warmAt = now + warmUpMs;
          else if (begin === 0 && now >= warmAt) {
            begin = now;
            end = begin + seconds * 1000;
            answered = 0;
          }
          if (now < end) {
            answered += 1;
            send();
          } else if (elapsedMs === 0) {
            elapsedMs = performance.now() - begin;
            link?.stop();
          }
          break;
        case 'gone':
          resolve();
          break;
        case 'failed':
        case 'load-failed':
          throw new Error(message.message);
      }
    };
    link = lane.open(receive);
    const { name, inputs, outputs, isBatched } = version.view;
    link.send({
      kind: 'load',
      spec: {
        model: 1,
        name,
        version: '1',
        engine: 'onnxruntime',
        path: version.path,
        inputs,
        outputs,
        isBatched,
        threads: 1,
        isSpinning: false,
      },
    });
  });
  return (answered * rows * 1000) / elapsedMs;
}

/** Processor time that the worker has used; 0 where the system does not tell. */
function processorMs(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function moveToCore(pid: number | undefined): void {
  const core = values['worker-core'];
  if (core !== undefined && pid !== undefined) moveTo(core, pid);
}

const { rowsPerSecond, meanBatchRows, workerMicros } = await throughDataPlane();
const figures: Record<string, number> = { rowsPerSecond, meanBatchRows, workerMicros };
if (values.bare) figures.bareRowsPerSecond = await bareLoop(Math.max(1, Math.round(meanBatchRows)));
process.stdout.write(`${JSON.stringify(figures)}\n`);
rmSync(repository, { recursive: true });
