import { type AnswerHoldings, type EnsemblePlan, EnsembleRun, type TensorSource } from '@millrace/core';
import {
  Cancellation,
  type CancelReason,
  callerShapeFrom,
  engineShapeFrom,
  InferenceError,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import { fitBatch, shapesMeet } from '../../model/fit-batch.ts';
import type { ModelView } from '../../model/model-view.ts';
import type { InferAnswer, InferRequest } from '../infer.ts';
import { bytesOfTensors } from '../sliced-work/copy-slices.ts';
import type { ValidInferRequest } from '../valid-request.ts';
import type { InferStep } from './ensemble-runner.ts';

export interface EnsembleRequestParts {
  readonly plan: EnsemblePlan;
  readonly infer: InferStep;
  readonly holdings: AnswerHoldings;
  readonly request: ValidInferRequest;
}

/**
 * Runs one request through the steps of an ensemble. The answer of a step is held until the last step that reads it has
 * ended (a step that loses its worker is laid out again, from the same bytes), and those with requested outputs until the
 * caller releases its answer.
 */
export class EnsembleRequest {
  readonly #parts: EnsembleRequestParts;
  readonly #run: EnsembleRun;
  readonly #answers: (InferAnswer | undefined)[];
  /** By step: bytes of its answer that are counted as held. */
  readonly #heldBytes: number[];
  /** By step: whether its model batches, so that its outputs have the batch dimension. */
  readonly #isBatched: boolean[] = [];
  readonly #cancellation = new Cancellation();
  #failure: InferenceError | undefined;
  #onEnd: (outcome: InferAnswer | InferenceError) => void = () => {};

  constructor(parts: EnsembleRequestParts) {
    this.#parts = parts;
    this.#run = new EnsembleRun(parts.plan, parts.request.outputs);
    this.#answers = parts.plan.steps.map(() => undefined);
    this.#heldBytes = parts.plan.steps.map(() => 0);
  }

  /** Calls back once, when none of its steps runs any more. */
  start(onEnd: (outcome: InferAnswer | InferenceError) => void): void {
    this.#onEnd = onEnd;
    this.#startSteps();
  }

  /** Cancels the steps in progress; their failures end the request. */
  cancel(reason: CancelReason): void {
    this.#cancellation.cancel(reason);
  }

  #startSteps(): void {
    for (const step of this.#run.takeStartable()) {
      this.#inferStep(step).then(
        (answer) => this.#answered(step, answer),
        (error: unknown) => this.#failed(step, error),
      );
    }
  }

  #inferStep(step: number): Promise<InferAnswer> {
    const { plan, request, infer } = this.#parts;
    const { model, version, takes, gives } = plan.steps[step] as EnsemblePlan['steps'][number];
    const inputs: Tensor[] = [];
    for (const { name, source } of takes) {
      const tensor = this.#tensorFrom(source);
      // An optional input that the caller left out is left out of the step, too.
      if (tensor !== undefined) inputs.push({ ...tensor, name });
    }
    const { target, origin } = request;
    const { id, parameters, sequence } = target;
    return infer(
      {
        target: { model, version, id, parameters, outputs: gives, sequence },
        inputs,
        origin: { ...origin, trail: [...origin.trail, request.model.view.name] },
      },
      this.#cancellation,
      (part, view) => this.#fitted(step, part, view),
    );
  }

  /** Adds or drops the batch dimension, as the step's model needs it. */
  #fitted(step: number, part: InferRequest, view: ModelView): InferRequest {
    const { takes } = this.#parts.plan.steps[step] as EnsemblePlan['steps'][number];
    this.#isBatched[step] = view.isBatched;
    const isMixed = takes.some(({ source }) => this.#hasRows(source) !== view.isBatched);
    if (!isMixed) return part;
    const sources = new Map(takes.map(({ name, source }) => [name, source]));
    const inputs = part.inputs.map((tensor) => {
      const source = sources.get(tensor.name);
      const spec = view.inputs.find(({ name }) => name === tensor.name);
      if (source === undefined || spec === undefined) return tensor;
      const wanted = { shape: spec.shape, isBatched: view.isBatched };
      return { ...tensor, shape: fitBatch(tensor.shape, this.#hasRows(source), wanted) };
    });
    return { ...part, inputs };
  }

  #hasRows(source: TensorSource): boolean {
    if (source.kind === 'input') return this.#parts.request.model.view.isBatched;
    return this.#isBatched[source.step] === true;
  }

  #tensorFrom(source: TensorSource): Tensor | undefined {
    if (source.kind === 'input') {
      const { inputs, model } = this.#parts.request;
      const tensor = inputs[source.input];
      const spec = model.view.inputs[source.input];
      if (tensor === undefined || spec?.engineShape === undefined) return tensor;
      return { ...tensor, shape: engineShapeFrom(spec, tensor.shape) };
    }
    return this.#answers[source.step]?.outputs[source.position];
  }

  #answered(step: number, answer: InferAnswer): void {
    const problem = this.#holdProblem(step, answer);
    if (problem !== undefined) {
      answer.release();
      this.#failed(step, problem);
      return;
    }
    this.#answers[step] = answer;
    this.#run.answered(step);
    for (const unread of this.#run.takeUnread()) this.#release(unread);
    if (this.#run.hasFailed) this.#endIfOver();
    else if (this.#run.isDone) this.#onEnd(this.#finalAnswer());
    else this.#startSteps();
  }

  /** The answer of the last step is the caller's at once, whose memory is counted where the answer leaves. */
  #holdProblem(step: number, answer: InferAnswer): InferenceError | undefined {
    if (this.#run.hasFailed || this.#run.isAtLastStep) return undefined;
    const { holdings, request } = this.#parts;
    const bytes = bytesOfTensors(answer.outputs);
    const code = holdings.take(request.caller, bytes);
    if (code === undefined) {
      this.#heldBytes[step] = bytes;
      return undefined;
    }
    const holder = code === 'caller-full' ? 'of this caller ' : '';
    return new InferenceError(
      code,
      `the answers of steps ${holder}hold as much memory as they may (${holdings.bytes} of ${holdings.bytesMax} bytes are taken), and its answer has ${bytes} bytes; wait for answers, or try again later`,
    );
  }

  #failed(step: number, error: unknown): void {
    this.#failure ??= this.#failureOf(step, error);
    this.#run.failed();
    this.#cancellation.cancel('cancelled');
    this.#endIfOver();
  }

  #endIfOver(): void {
    if (!this.#run.isOver) return;
    for (const step of this.#answers.keys()) this.#release(step);
    this.#onEnd(this.#failure as InferenceError);
  }

  #release(step: number): void {
    const answer = this.#answers[step];
    this.#answers[step] = undefined;
    this.#giveBack(step);
    answer?.release();
  }

  #giveBack(step: number): void {
    const { holdings, request } = this.#parts;
    holdings.giveBack(request.caller, this.#heldBytes[step] as number);
    this.#heldBytes[step] = 0;
  }

  #finalAnswer(): InferAnswer {
    for (const step of this.#answers.keys()) this.#giveBack(step);
    const { plan, request } = this.#parts;
    const { name, version, isBatched, outputs: specs } = request.model.view;
    const outputs = request.outputs.map((output) => {
      const { step, position } = plan.outputs[output] as EnsemblePlan['outputs'][number];
      const tensor = this.#answers[step]?.outputs[position] as Tensor;
      const spec = specs[output] as TensorSpec;
      const inside = { shape: spec.engineShape ?? spec.shape, isBatched };
      const shape = fitBatch(tensor.shape, this.#isBatched[step] === true, inside);
      // A step may answer with a shape other than the declared one; that shape is returned.
      const isDeclared = shapesMeet(shape, inside.shape);
      return { ...tensor, name: spec.name, shape: isDeclared ? callerShapeFrom(spec, shape) : shape };
    });
    const held = this.#answers.filter((answer) => answer !== undefined);
    const release = (): void => {
      for (const answer of held) answer.release();
    };
    return { model: name, version, id: request.id, outputs, release };
  }

  #failureOf(step: number, error: unknown): InferenceError {
    const { plan, request } = this.#parts;
    const where = `step ${step} ('${plan.steps[step]?.model}') of ensemble '${request.model.view.name}'`;
    if (!(error instanceof InferenceError))
      return new InferenceError('internal', `${where} failed: internal error of the server`, { cause: error });
    // The ensemble exists; the model that is missing is a step of it.
    const code = error.code === 'unknown-model' ? 'model-not-ready' : error.code;
    // Its text names the step's model, and callers of the ensemble match on it as callers of the model do.
    if (code === 'queue-timeout') return error;
    const { retryAfterMs } = error;
    const options = retryAfterMs === undefined ? { cause: error } : { cause: error, retryAfterMs };
    return new InferenceError(code, `${where}: ${error.message}`, options);
  }
}
