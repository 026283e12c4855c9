/**
 * Runs the steps of a stream on the data plane. A step that is refused for want of capacity is asked again after growing
 * pauses, and one whose model is being loaded as soon as that takes requests: a stream waits where a single request would be
 * refused. It goes to the revision that the stream runs on by then. One whose model is not in memory, and whose files have
 * changed since, is never run again: the stream ends `model-changed`.
 */
import type { InputEntry, StreamError, StreamStepId } from '@millrace/core';
import { Cancellation, errorCatalogue, InferenceError, type JsonObject, type Tensor } from '@millrace/protocol';
import { AnswerFlow } from '../data-plane/answer-flow.ts';
import type { Clock } from '../data-plane/clock.ts';
import { type InferAnswer, type InferRequest, noTrail } from '../data-plane/infer.ts';
import type { Inference } from '../data-plane/inference.ts';
import { withSamplingParameters } from '../data-plane/sampling-parameters.ts';
import { sharesSteps } from './exactness.ts';
import type { FollowedRevision } from './followed-revision.ts';
import { type OpeningRecord, streamParametersOf } from './opening-record.ts';
import type { PayloadCodec } from './payload-codec.ts';
import type { StreamModel } from './stream-model.ts';
import type { StreamModels, StreamPin } from './stream-models.ts';
import type { StreamObserver } from './stream-observer.ts';

export interface ModelStepsParts {
  readonly inference: Pick<Inference, 'inferMany'>;
  readonly clock: Clock;
  readonly codec: PayloadCodec;
  readonly observer: Pick<StreamObserver, 'stepPostponed' | 'workerLost'>;
  readonly models: Pick<StreamModels, 'onServed'>;
}

/** A step as the machine asks for it. */
export interface AskedStep {
  readonly step: StreamStepId;
  readonly input: InputEntry<Uint8Array>;
  readonly state: Uint8Array | undefined;
  readonly outputsMax: number;
  /** Outputs of the input that an earlier attempt gave. */
  readonly journaledOutputs: number;
}

export interface StepListener {
  onOutput(step: StreamStepId, payload: Uint8Array, isLast: boolean): void;
  onDone(step: StreamStepId, state: Uint8Array | undefined): void;
  onFailed(step: StreamStepId, error: StreamError, hasWorkerDied: boolean, wasAlone: boolean): void;
}

interface RunningStep {
  readonly cancellation: Cancellation;
  granted: number;
  /** Of a decoupled model. */
  flow: AnswerFlow | undefined;
  hasAnswered: boolean;
  cancelPause: (() => void) | undefined;
}

const pauseMsMin = 10;
const pauseMsMax = 1000;

/** The steps of one stream. */
export class ModelSteps {
  readonly #parts: ModelStepsParts;
  readonly #revision: FollowedRevision;
  /** Its steps share no runs with other requests. */
  readonly #isAlone: boolean;
  readonly #caller: string;
  /** Of the stream. */
  readonly #parameters: JsonObject;
  readonly #listener: StepListener;
  /** Made with the first step: most streams are idle. */
  #running: Map<StreamStepId, RunningStep> | undefined;
  /** Of most steps, which differ in their inputs only. */
  #target: InferRequest['target'] | undefined;
  #origin: InferRequest['origin'] | undefined;

  /** Without a pin nothing runs: the stream is about to end. */
  constructor(parts: ModelStepsParts, revision: FollowedRevision, opening: OpeningRecord, listener: StepListener) {
    this.#parts = parts;
    this.#revision = revision;
    // The files stay the same, so it was probed when the stream opened: a resume does not wait for a probe.
    this.#isAlone = opening.exactness !== undefined && !sharesSteps(opening.exactness.verdict);
    this.#caller = opening.caller;
    this.#parameters = streamParametersOf(opening);
    this.#listener = listener;
  }

  /** `deadlineAt`: in milliseconds of the data plane's clock. */
  run(asked: AskedStep, deadlineAt: number): void {
    if (this.#revision.pin === undefined) return;
    const running: RunningStep = {
      cancellation: new Cancellation(),
      granted: asked.outputsMax,
      flow: undefined,
      hasAnswered: false,
      cancelPause: undefined,
    };
    this.#running ??= new Map();
    this.#running.set(asked.step, running);
    this.#ask(asked, running, deadlineAt, pauseMsMin);
  }

  grant(step: StreamStepId, outputsMax: number): void {
    const running = this.#running?.get(step);
    if (running === undefined) return;
    const more = outputsMax - running.granted;
    running.granted = outputsMax;
    if (more > 0) running.flow?.grant(more);
  }

  cancel(step: StreamStepId): void {
    const running = this.#running?.get(step);
    this.#running?.delete(step);
    running?.cancelPause?.();
    running?.cancellation.cancel('cancelled');
  }

  cancelAll(): void {
    for (const step of [...(this.#running?.keys() ?? [])]) this.cancel(step);
  }

  #ask(asked: AskedStep, running: RunningStep, deadlineAt: number, pauseMs: number): void {
    const { step } = asked;
    const pin = this.#revision.pin as StreamPin;
    let request: InferRequest;
    try {
      request = this.#requestFor(asked, pin, deadlineAt);
    } catch (error) {
      this.#fail(step, error);
      return;
    }
    if (pin.model.kind === 'decoupled') running.flow = this.#flowFor(running, step);
    this.#revision.beginStep();
    this.#parts.inference.inferMany(request, running.cancellation, running.flow).then(
      (answer) => {
        this.#revision.endStep(pin);
        this.#end(step, answer, pin);
      },
      (error: unknown) => {
        this.#revision.endStep(pin);
        if (this.#running?.has(step) !== true) return;
        if (!running.hasAnswered && isReplaced(error)) {
          void this.#askSuccessor(asked, running, pin, deadlineAt, pauseMs, error);
          return;
        }
        if (running.hasAnswered || !isPassing(error) || hasKilledWorker(error)) {
          this.#fail(step, error);
          return;
        }
        this.#parts.observer.stepPostponed();
        void this.#askAgain(asked, running, pin, deadlineAt, pauseMs, error);
      },
    );
  }

  #flowFor(running: RunningStep, step: StreamStepId): AnswerFlow {
    const flow = new AnswerFlow((answer) => {
      running.hasAnswered = true;
      this.#give(step, answer);
    });
    if (running.granted > 0) flow.grant(running.granted);
    return flow;
  }

  async #askAgain(
    asked: AskedStep,
    running: RunningStep,
    pin: StreamPin,
    deadlineAt: number,
    pauseMs: number,
    refusal: unknown,
  ): Promise<void> {
    if (isNotInMemory(refusal) && (await hasOtherFiles(pin)) && this.#revision.pin === pin) {
      const { name, version } = pin.model.view;
      const message = `version ${version} of ${name} has other files than when the stream was opened, and is not in memory any more; open a new stream`;
      this.#fail(asked.step, new InferenceError('model-changed', message));
      return;
    }
    if (this.#running?.get(asked.step) === running) this.#askLater(asked, running, deadlineAt, pauseMs);
  }

  /** Its revision was replaced while it was not in memory. */
  async #askSuccessor(
    asked: AskedStep,
    running: RunningStep,
    pin: StreamPin,
    deadlineAt: number,
    pauseMs: number,
    refusal: unknown,
  ): Promise<void> {
    const outcome = this.#revision.pin === pin ? await this.#revision.followSuccessor() : 'followed';
    if (this.#running?.get(asked.step) !== running) return;
    if (outcome === 'followed') this.#ask(asked, running, deadlineAt, pauseMs);
    else if (outcome === 'none') this.#fail(asked.step, refusal);
    else {
      this.#parts.observer.stepPostponed();
      this.#askLater(asked, running, deadlineAt, pauseMs);
    }
  }

  #askLater(asked: AskedStep, running: RunningStep, deadlineAt: number, pauseMs: number): void {
    const { clock, models } = this.#parts;
    const { name, version } = (this.#revision.pin as StreamPin).model.view;
    const askAgain = (nextPauseMs: number): void => {
      running.cancelPause?.();
      this.#ask(asked, running, deadlineAt, nextPauseMs);
    };
    const cancelTimer = clock.after(pauseMs, () => askAgain(Math.min(2 * pauseMs, pauseMsMax)));
    const stopWaiting = models.onServed(name, version, () => askAgain(pauseMsMin));
    running.cancelPause = () => {
      running.cancelPause = undefined;
      cancelTimer();
      stopWaiting();
    };
  }

  #give(step: StreamStepId, answer: InferAnswer): void {
    if (this.#running?.has(step) === true) {
      const payload = this.#parts.codec.encodeOutput({ kind: 'tensors', tensors: answer.outputs });
      answer.release();
      this.#listener.onOutput(step, payload, false);
    } else answer.release();
  }

  #end(step: StreamStepId, answer: InferAnswer, { model }: StreamPin): void {
    if (this.#running?.delete(step) !== true) {
      answer.release();
      return;
    }
    if (answer.isEnd === true) {
      answer.release();
      this.#listener.onDone(step, undefined);
      return;
    }
    let split: ReturnType<StreamModel['split']>;
    try {
      split = model.split(answer.outputs);
    } catch (error) {
      answer.release();
      this.#listener.onFailed(step, streamErrorFrom(error), false, false);
      return;
    }
    const { codec } = this.#parts;
    const payload = codec.encodeOutput({ kind: 'tensors', tensors: split.answer });
    const isStateful = model.kind === 'stateful';
    const state = isStateful ? codec.encodeOutput({ kind: 'tensors', tensors: split.state }) : undefined;
    answer.release();
    this.#listener.onOutput(step, payload, true);
    this.#listener.onDone(step, state);
  }

  #fail(step: StreamStepId, error: unknown): void {
    if (this.#running?.delete(step) !== true) return;
    const { code, message } = streamErrorFrom(error);
    // The scheduler has run such a request again with nothing beside it, until a worker died of it alone. Of a model in a crash loop
    // there is no worker left to run it again: each death is the last.
    const wasAlone = code === 'poison-request' || code === 'run-time-limit' || hasKilledWorker(error);
    const hasWorkerDied = wasAlone || code === 'worker-lost';
    if (hasWorkerDied) this.#parts.observer.workerLost();
    this.#listener.onFailed(step, { code, message }, hasWorkerDied, wasAlone);
  }

  #requestFor(
    { input, state, journaledOutputs }: AskedStep,
    { model, revision }: StreamPin,
    deadlineAt: number,
  ): InferRequest {
    const { codec } = this.#parts;
    const payload = input.payload === undefined ? ({ kind: 'none' } as const) : codec.decodeInput(input.payload);
    const given = model.inputsFrom(payload, state === undefined ? undefined : stateFrom(codec, state));
    const inputs = model.view.isGenerator === true ? withSamplingParameters(given, this.#parameters) : given;
    if (this.#target?.pinnedTo !== revision) {
      const { name, version } = model.view;
      this.#target = {
        model: name,
        version,
        id: '',
        parameters: noParameters,
        outputs: [],
        sequence: undefined,
        pinnedTo: revision,
        isAlone: this.#isAlone,
        answersCounted: 0,
      };
    }
    this.#origin ??= {
      caller: this.#caller,
      deadlineAt: Number.POSITIVE_INFINITY,
      queueTimeoutMs: Number.POSITIVE_INFINITY,
      priority: 0,
      trail: noTrail,
    };
    const target = journaledOutputs === 0 ? this.#target : { ...this.#target, answersCounted: journaledOutputs };
    const origin = deadlineAt === Number.POSITIVE_INFINITY ? this.#origin : { ...this.#origin, deadlineAt };
    return { target, inputs, origin };
  }
}

const noParameters: InferRequest['target']['parameters'] = new Map();

function stateFrom(codec: PayloadCodec, bytes: Uint8Array): readonly Tensor[] {
  const payload = codec.decodeOutput(bytes);
  return payload.kind === 'tensors' ? payload.tensors : [];
}

/** Whether the same step may succeed later without any change by the client. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof InferenceError)) return false;
  return error.code !== 'worker-lost' && errorCatalogue[error.code].retry === 'after-backoff';
}

/** A worker died while it ran the step alone, and was the last of its model. */
function hasKilledWorker(error: unknown): boolean {
  if (!(error instanceof InferenceError) || error.code !== 'model-not-ready') return false;
  return error.cause instanceof InferenceError && error.cause.code === 'worker-lost';
}

/** No worker has the model: a worker that is to run the step has to load it. */
function isNotInMemory(error: unknown): boolean {
  return error instanceof InferenceError && error.code === 'model-not-ready';
}

/** The data plane does not know the revision of the step any more. */
function isReplaced(error: unknown): boolean {
  return error instanceof InferenceError && error.code === 'model-unloaded';
}

async function hasOtherFiles({ revision }: StreamPin): Promise<boolean> {
  const isUnchanged = await revision.source?.isUnchanged();
  return isUnchanged === false;
}

function streamErrorFrom(error: unknown): StreamError {
  if (error instanceof InferenceError) return { code: error.code, message: error.message };
  return { code: 'internal', message: error instanceof Error ? error.message : String(error) };
}
