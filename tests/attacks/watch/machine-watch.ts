/**
 * How late the machine wakes a thread that only sleeps. A virtual machine that its host stops for a while counts no thread as waiting;
 * this thread, which shares nothing with the attacker and the server, is late by that time.
 */
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

const napMs = 5;
/** Less is what any thread waits for a core that others use. */
const lateMsMin = 50;
const longestAt = 0;
const isStoppedAt = 1;

export class MachineWatch {
  readonly #state = new Int32Array(new SharedArrayBuffer(8));
  #before = 0;

  constructor() {
    new Worker(fileURLToPath(import.meta.url), { workerData: { machineWatch: this.#state } }).unref();
  }

  /** The longest since the call before the last one: who asks may have seen a delay later than this thread. */
  lateMs(): number {
    const latest = Atomics.exchange(this.#state, longestAt, 0) / 1000;
    const longest = Math.max(latest, this.#before);
    this.#before = latest;
    return longest;
  }

  stop(): void {
    Atomics.store(this.#state, isStoppedAt, 1);
    Atomics.notify(this.#state, isStoppedAt);
  }
}

function sleepAndMeasure(state: Int32Array): void {
  while (Atomics.load(state, isStoppedAt) === 0) {
    const begin = performance.now();
    Atomics.wait(state, isStoppedAt, 0, napMs);
    const lateMicroseconds = Math.floor((performance.now() - begin - napMs) * 1000);
    const isLonger = lateMicroseconds > Math.max(lateMsMin * 1000, Atomics.load(state, longestAt));
    if (isLonger) Atomics.store(state, longestAt, lateMicroseconds);
  }
}

if (!isMainThread && workerData?.machineWatch instanceof Int32Array) sleepAndMeasure(workerData.machineWatch);
