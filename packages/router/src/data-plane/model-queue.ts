import type { CancelSignal } from '@millrace/protocol';
import type { InferAnswer, Runner } from './infer.ts';
import type { SchedulerLoop } from './scheduler-loop.ts';
import type { SlicedWork } from './sliced-work/sliced-work.ts';
import { SplitRunner } from './splitting/split-runner.ts';
import type { ValidInferRequest } from './valid-request.ts';
import { Waiter } from './waiter.ts';

/** Runs requests through the model's queue, bypassing its runner; in several parts where there are more rows than a batch may have. */
export class ModelQueue implements Runner {
  readonly #loop: SchedulerLoop;
  readonly #splitting: SplitRunner;

  constructor(loop: SchedulerLoop, sliced: SlicedWork) {
    this.#loop = loop;
    this.#splitting = new SplitRunner((part, signal) => this.#enqueue(part, signal), sliced);
  }

  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return request.isSplit ? this.#splitting.run(request, signal) : this.#enqueue(request, signal);
  }

  #enqueue(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return Waiter.promise(signal, (waiter) => this.#loop.submit(request, waiter));
  }
}
