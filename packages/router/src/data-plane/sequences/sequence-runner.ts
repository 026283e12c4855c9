/**
 * Runs the steps of a model's sequences: each is an ordinary request to the model's queue, with the control tensors and the
 * sequence's state added. The state is kept here between steps, so that any instance may run the next one.
 */
import { type SequenceNumber, Sequencer, type SequencerEvent, type StepId } from '@millrace/core';
import {
  Cancellation,
  type CancelSignal,
  IdMap,
  InferenceError,
  neverCancelled,
  quotedCharactersMax,
  shortened,
} from '@millrace/protocol';
import type { Sequencing } from '../../model/sequencing.ts';
import type { Clock } from '../clock.ts';
import type { InferAnswer, InferRequest, Runner, SequenceStep } from '../infer.ts';
import type { ModelObserver } from '../observer.ts';
import type { ServedModel } from '../served-model.ts';
import { copiesOf, finish } from '../sliced-work/copy-slices.ts';
import { copySliceBytesMax, type SlicedWork } from '../sliced-work/sliced-work.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { Waiter } from '../waiter.ts';
import { SequenceStates } from './sequence-states.ts';
import {
  controlTensorsOf,
  idProblem,
  initialStateOf,
  type SequenceState,
  stateBytesOf,
  stateOutputsOf,
} from './step-tensors.ts';

/** How long an unload waits for live sequences; then it ends them. */
export const sequenceUnloadMsMax = 30_000;

interface Step {
  readonly id: StepId;
  readonly request: ValidInferRequest;
  readonly sequence: SequenceStep;
  readonly cancellation: Cancellation;
  readonly waiter: Waiter;
  stopListening: (() => void) | undefined;
}

export interface SequenceRunnerParts {
  /** The data plane's own. */
  readonly queue: Runner;
  readonly clock: Clock;
  readonly observer: ModelObserver;
  /** Copies large states. */
  readonly sliced: SlicedWork;
}

export class SequenceRunner implements Runner {
  readonly #model: ServedModel;
  /** The same model, with the tensors that clients do not see. */
  readonly #engineModel: ServedModel;
  readonly #sequencing: Sequencing;
  readonly #queue: Runner;
  readonly #clock: Clock;
  readonly #observer: ModelObserver;
  readonly #sliced: SlicedWork;
  readonly #sequencer: Sequencer;
  readonly #steps = new IdMap<Step>();
  readonly #initialState: SequenceState;
  readonly #states = new SequenceStates();
  #stepCount = 0;
  #cancelWake: (() => void) | undefined;
  #onClosed: (() => void) | undefined;
  #cancelHaste: (() => void) | undefined;
  #closed: Promise<void> | undefined;
  #isClosedAtOnce: boolean = false;

  constructor(model: ServedModel, sequencing: Sequencing, parts: SequenceRunnerParts) {
    this.#model = model;
    this.#engineModel = model.toEngineModel();
    this.#sequencing = sequencing;
    this.#queue = parts.queue;
    this.#clock = parts.clock;
    this.#observer = parts.observer;
    this.#sliced = parts.sliced;
    this.#sequencer = new Sequencer(sequencing.policy);
    this.#initialState = initialStateOf(sequencing);
    this.#observer.sequencesAttached();
  }

  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return Waiter.promise(signal, (waiter) => {
      const { sequence, origin } = request;
      const problem = this.#problemOf(request);
      if (problem !== undefined || sequence === undefined) {
        this.#observer.requestRefused('invalid-request');
        waiter.reject(
          new InferenceError('invalid-request', `inference request to model '${request.model.view.name}' ${problem}`),
        );
        return;
      }
      this.#stepCount += 1;
      const step: Step = {
        id: this.#stepCount,
        request,
        sequence,
        cancellation: new Cancellation(),
        waiter,
        stopListening: undefined,
      };
      this.#steps.set(step.id, step);
      const { id, isStart, isEnd } = sequence;
      const limits = { deadlineAt: origin.deadlineAt, slotWaitMsMax: origin.queueTimeoutMs };
      this.#tell({
        kind: 'step-arrived',
        step: { step: step.id, owner: request.caller, id, isStart, isEnd, bytes: request.bytes, ...limits },
      });
      if (!this.#steps.has(step.id)) return;
      if (sequence.onSlotWait !== undefined && this.#sequencer.waitsForSlot(step.id)) sequence.onSlotWait();
      if (signal === neverCancelled) return;
      step.stopListening = signal.onCancel((reason) => this.#tell({ kind: 'step-cancelled', step: step.id, reason }));
    });
  }

  get isHolding(): boolean {
    const { liveSequences, backlogSequences } = this.#sequencer.counts();
    return liveSequences + backlogSequences > 0;
  }

  /** Whether the request continues a live sequence of this runner. */
  holds({ target: { sequence }, origin }: InferRequest): boolean {
    return sequence !== undefined && !sequence.isStart && this.#sequencer.holds(origin.caller, sequence.id);
  }

  beginsElsewhere({ target: { sequence }, origin }: InferRequest): void {
    if (sequence?.isStart !== true || !this.#sequencer.holds(origin.caller, sequence.id)) return;
    this.#tell({ kind: 'begun-elsewhere', owner: origin.caller, id: sequence.id });
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#cancelHaste = this.#clock.after(sequenceUnloadMsMax, () => {
        this.#isClosedAtOnce = true;
        this.#tell({ kind: 'closing-at-once' });
      });
      this.#onClosed = resolve;
      this.#tell({ kind: 'closing' });
    });
    return this.#closed;
  }

  reopen(): void {
    if (this.#closed === undefined) return;
    this.#cancelHaste?.();
    this.#closed = undefined;
    this.#isClosedAtOnce = false;
    this.#tell({ kind: 'reopened' });
  }

  #problemOf({ sequence, rows }: ValidInferRequest): string | undefined {
    if (sequence === undefined) return 'must specify a non-zero or non-empty correlation ID';
    if (rows !== 1) return 'must specify batch-size 1 due to requirements of sequence batcher';
    const problem = idProblem(this.#sequencing, sequence.id);
    return problem === undefined ? undefined : `has an invalid correlation ID: the model ${problem}`;
  }

  #tell(event: SequencerEvent): void {
    this.#sequencer.handle(event, this.#clock.now());
    for (const action of this.#sequencer.takeActions()) {
      switch (action.kind) {
        case 'run':
          this.#run(action.step, action.sequence, action.isStart);
          break;
        case 'refuse':
          this.#refuse(action.step, new InferenceError(action.code, action.message));
          break;
        case 'cancel-run':
          this.#steps.get(action.step)?.cancellation.cancel(action.reason);
          break;
        case 'forget':
          this.#states.forget(action.sequence);
          this.#observer.sequenceEnded(action.reason);
          break;
        case 'wake-at':
          this.#wakeAt(action.at);
          break;
        case 'closed':
          this.#cancelHaste?.();
          this.#onClosed?.();
          break;
      }
    }
    const { liveSequences, backlogSequences } = this.#sequencer.counts();
    this.#observer.sequencesChanged(liveSequences, backlogSequences, this.#states.bytes);
  }

  #run(id: StepId, sequence: SequenceNumber, isStart: boolean): void {
    const step = this.#steps.get(id) as Step;
    const state = isStart ? this.#initialState : this.#states.mustGet(sequence);
    const outputs = this.#outputsOf(step.request);
    const inner = ValidInferRequest.extended(step.request, {
      model: this.#engineModel,
      inputs: [...step.request.inputs, ...controlTensorsOf(this.#sequencing, step.sequence, isStart), ...state],
      outputs,
    });
    this.#queue.run(inner, step.cancellation).then(
      (answer) => this.#answered(step, sequence, answer, outputs),
      (error: InferenceError) => this.#failed(step, error),
    );
  }

  /** The outputs that the client requested, then the states among the rest; most request all, and share one list. */
  #outputsOf({ outputs }: ValidInferRequest): readonly number[] {
    if (outputs === this.#model.allOutputs) return this.#engineModel.allOutputs;
    const states = this.#sequencing.states.map(({ output }) => output);
    return [...outputs, ...states.filter((output) => !outputs.includes(output))];
  }

  #answered(step: Step, sequence: SequenceNumber, answer: InferAnswer, outputs: readonly number[]): void {
    if (step.sequence.isEnd) {
      this.#resolve(step, answer);
      return;
    }
    const given = stateOutputsOf(this.#sequencing, answer.outputs, outputs);
    const bytes = stateBytesOf(given);
    const problem = this.#roomProblem(step, sequence, bytes);
    if (problem !== undefined) {
      answer.release();
      this.#observer.requestRefused(problem.code);
      this.#failed(step, problem);
      return;
    }
    // Copied, because the answer's memory is reused. No step of the sequence runs before this one is settled.
    const { tensors, slices } = copiesOf(given);
    this.#states.keep(sequence, step.request.caller, tensors);
    if (bytes > copySliceBytesMax) {
      this.#sliced.run(slices, () => this.#resolve(step, answer));
      return;
    }
    finish(slices);
    this.#resolve(step, answer);
  }

  #resolve(step: Step, answer: InferAnswer): void {
    this.#settle(step);
    this.#tell({ kind: 'step-answered', step: step.id });
    const wanted = answer.outputs.slice(0, step.request.outputs.length);
    step.waiter.resolve({ ...answer, outputs: wanted, release: () => answer.release() });
  }

  /** Does not count the failure: the queue has counted what it refused itself. */
  #failed(step: Step, cause: InferenceError): void {
    this.#settle(step);
    // The unload has cancelled the run, not the caller.
    const isUnloaded = this.#isClosedAtOnce && cause.code === 'cancelled' && step.waiter.signal.reason === undefined;
    const error = isUnloaded ? this.#unloadRefusal(step) : cause;
    this.#tell({ kind: 'step-failed', step: step.id, code: error.code, message: error.message });
    step.waiter.reject(error);
  }

  #unloadRefusal(step: Step): InferenceError {
    const id = shortened(String(step.sequence.id), quotedCharactersMax);
    return new InferenceError(
      'model-not-ready',
      `sequence ${id} has ended because model '${this.#model.view.name}' is being unloaded; start it anew after a pause`,
    );
  }

  #refuse(id: StepId, error: InferenceError): void {
    const step = this.#steps.get(id) as Step;
    this.#settle(step);
    this.#observer.requestRefused(error.code);
    step.waiter.reject(error);
  }

  #settle(step: Step): void {
    step.stopListening?.();
    this.#steps.delete(step.id);
  }

  /** Makes room by ending sequences of a caller that holds more; returns the error where that is not possible. */
  #roomProblem(step: Step, sequence: SequenceNumber, bytes: number): InferenceError | undefined {
    const { stateBytesMax } = this.#sequencing;
    const { caller } = step.request;
    while (this.#states.bytesWith(sequence, bytes) > stateBytesMax) {
      const before = this.#states.bytes;
      const owner = this.#states.takeLargerOwner(caller, sequence, bytes);
      if (owner !== undefined) this.#tell({ kind: 'owner-over-share', owner });
      // All its sequences have a step in flight, so none of their memory can be freed now.
      if (this.#states.bytes === before) return this.#stateRefusal(step, bytes);
    }
    return undefined;
  }

  #stateRefusal(step: Step, bytes: number): InferenceError {
    return new InferenceError(
      'model-full',
      `the state of sequence ${shortened(String(step.sequence.id), quotedCharactersMax)} has grown to ${bytes} bytes, and all sequences of model ` +
        `'${this.#model.view.name}' together may have ${this.#sequencing.stateBytesMax} (millrace.sequence_state_bytes_max); the sequence was ended: end ` +
        'sequences that are no longer needed, or raise the limit',
    );
  }

  #wakeAt(at: number): void {
    this.#cancelWake?.();
    this.#cancelWake = this.#clock.alarm(Math.max(0, at - this.#clock.now()), () => {
      this.#cancelWake = undefined;
      this.#tell({ kind: 'tick' });
    });
  }
}
