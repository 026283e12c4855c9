/** The live data plane with its real scheduler and metrics, a clock controlled by the test, and scripted workers. */

import { type ModelPolicy, Scheduler } from '@millrace/core';
import { Cancellation, copyOf, type FromWorker, InferenceError } from '@millrace/protocol';
import { ServedModels } from '../../catalogue/served-models.ts';
import { showState } from '../../catalogue/testing/show-state.ts';
import { renderMetrics } from '../../telemetry/exposition.ts';
import { MetricsObserver } from '../../telemetry/metrics-observer.ts';
import { MetricsRegistry } from '../../telemetry/registry.ts';
import type { Demand } from '../demand.ts';
import type { InferAnswer } from '../infer.ts';
import { createDataPlane, type LiveDataPlane } from '../live-data-plane.ts';
import type { ServedModel } from '../served-model.ts';
import type { SharingStopped } from '../worker-batches.ts';
import { HeldClock } from './held-clock.ts';
import { servedModel } from './models.ts';
import { overwriteWhenSettled } from './overwrite-inputs.ts';
import { inferRequest, type RequestText } from './requests.ts';
import { ScriptedLane, type ScriptedLink } from './scripted-lane.ts';

/** A request that was sent, and its outcome. */
export interface Sent {
  readonly cancellation: Cancellation;
  readonly outcome: Promise<string>;
  /** 'answered VALUES' or the code of the refusal; undefined while it is open. */
  result: string | undefined;
  answer: InferAnswer | undefined;
}

export class PlaneHarness {
  readonly clock = new HeldClock();
  readonly lane = new ScriptedLane();
  readonly model: ServedModel;
  readonly models = new ServedModels();
  readonly plane: LiveDataPlane;
  /** Loads nothing on demand, unless a test replaces it. */
  demand: Demand = {
    bringBack: () => Promise.reject(new InferenceError('model-not-ready', 'the harness loads no models')),
  };
  readonly #registry = new MetricsRegistry();
  readonly observer = new MetricsObserver(this.#registry, { version: '0', node: '0' });

  /** The default model takes rows of one INT32 and returns them. */
  constructor(
    policy: Partial<ModelPolicy> = {},
    model?: ServedModel,
    onSharingStopped: SharingStopped = () => {},
    heldAnswerBytesMax?: number,
  ) {
    this.model =
      model ??
      servedModel(
        [{ name: 'x', datatype: 'INT32', shape: [-1, 1] }],
        [{ name: 'y', datatype: 'INT32', shape: [-1, 1] }],
        {},
        policy,
      );
    this.plane = createDataPlane({
      scheduler: new Scheduler(),
      models: this.models,
      clock: this.clock,
      observer: this.observer,
      demand: { bringBack: (...given) => this.demand.bringBack(...given) },
      random: () => 0,
      onSharingStopped,
      heldAnswerBytesMax,
    });
    this.plane.roster.add(this.model);
    showState(this.models, this.model, { state: 'ready' });
  }

  /** A worker that serves the model and holds up to `batchesMax` batches. */
  worker(id: number, batchesMax = 1): ScriptedLink {
    const link = this.lane.open((message) => this.#tell(id, message));
    this.plane.workers.attach(id, link);
    this.plane.workers.workerCredit(id, batchesMax);
    this.plane.workers.workerServes(id, this.model, Number.POSITIVE_INFINITY);
    this.clock.endTurn();
    return link;
  }

  /** Sends rows with these values; they are dispatched at the end of the turn. */
  send(values: readonly number[], timeoutMs?: number, overrides: Partial<RequestText> = {}): Sent {
    const cancellation = new Cancellation();
    return this.sendWith(cancellation, values, timeoutMs, overrides);
  }

  sendWith(
    cancellation: Cancellation,
    values: readonly number[],
    timeoutMs?: number,
    overrides: Partial<RequestText> = {},
  ): Sent {
    const data = new Uint8Array(Int32Array.from(values).buffer);
    const request = inferRequest({
      inputs: [{ name: 'x', datatype: 'INT32', shape: [values.length, 1], data }],
      deadlineAt: this.plane.inference.deadlineAfter(timeoutMs),
      ...overrides,
    });
    const promise = this.plane.inference.infer(request, cancellation);
    overwriteWhenSettled(promise, request.inputs);
    const sent: { -readonly [Key in keyof Sent]: Sent[Key] } = {
      cancellation,
      outcome: promise.then(
        (answer) => {
          const bytes = copyOf(answer.outputs[0]?.data ?? new Uint8Array());
          sent.answer = answer;
          sent.result = `answered ${[...new Int32Array(bytes.buffer)].join(' ')}`;
          return sent.result;
        },
        (error: unknown) => {
          if (!(error instanceof InferenceError)) throw error;
          sent.result = error.code;
          return sent.result;
        },
      ),
      result: undefined,
      answer: undefined,
    };
    return sent;
  }

  /** Ends the turn and lets the promises of callers settle. */
  async turn(): Promise<void> {
    this.clock.endTurn();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** A value of the model's metrics; 0 for a series that does not exist. */
  metric(name: string, labels = ''): number {
    const line = new RegExp(`^${name}\\{model="m",version="1"${labels}\\} (\\S+)$`, 'm');
    return Number(line.exec(renderMetrics(this.#registry, 'prometheus'))?.[1] ?? 0);
  }

  #tell(worker: number, message: FromWorker): void {
    if (message.kind === 'answered') this.plane.workers.batchAnswered(message);
    else if (message.kind === 'failed') this.plane.workers.batchFailed(message);
    else if (message.kind === 'gone') this.plane.workers.workerGone(worker, message.end === 'killed');
  }
}
