/** One call of `realtime.inference.InferenceService/Predict`: one request of the data plane. */
import { randomUUID } from 'node:crypto';
import type { UnaryCall } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import type { InferAnswer } from '../../../data-plane/infer.ts';
import type { InferenceRequest, InferenceResponse } from '../../../proto/generated/realtime/inference/inference_pb.ts';
import type { StreamModel } from '../../../streams/stream-model.ts';
import { doAtOnce } from '../../slices/slice-queue.ts';
import { type PredictRequest, predictRequestFrom } from './predict-request.ts';
import { errorResponse, originMember, type RealtimeVersion, resultResponse, withResponse } from './realtime-answer.ts';
import type { RealtimeParts } from './realtime-parts.ts';
import { requestIdOf } from './realtime-request.ts';
import { isLongResult, resultJsonOf } from './result-json.ts';

export class Predict {
  readonly #parts: RealtimeParts;
  readonly #call: UnaryCall<InferenceResponse>;
  readonly #version: RealtimeVersion;
  readonly #arrivedAt: number;
  #requestId = '';

  constructor(parts: RealtimeParts, call: UnaryCall<InferenceResponse>, version: RealtimeVersion) {
    this.#parts = parts;
    this.#call = call;
    this.#version = version;
    this.#arrivedAt = parts.clock.now();
  }

  run(message: InferenceRequest): void {
    const { dataPlane } = this.#parts;
    const call = this.#call;
    this.#requestId = requestIdOf(message) || randomUUID();
    let asked: PredictRequest;
    try {
      asked = predictRequestFrom(message, call, this.#parts);
    } catch (error) {
      dataPlane.noteRefusal(error instanceof InferenceError ? error.code : 'internal');
      this.#fail(error);
      return;
    }
    const { request, model } = asked;
    dataPlane.infer(request, call.signal).then(
      (answer) => this.#answer(answer, model),
      (error: unknown) => this.#fail(error),
    );
  }

  #answer(answer: InferAnswer, asked: StreamModel): void {
    const { slices, callerOf } = this.#parts;
    const call = this.#call;
    const { model, version } = answer;
    try {
      const outputs = asked.split(answer.outputs).answer;
      const work = resultJsonOf(outputs, asked.view, originMember(this.#version, { model, version }));
      if (isLongResult(outputs)) {
        const written = slices.run(work, callerOf(call).caller, call.signal);
        written
          .finally(() => answer.release())
          .then(
            (json) => this.#send(json),
            (error: unknown) => this.#fail(error),
          );
        return;
      }
      const json = doAtOnce(work);
      answer.release();
      this.#send(json);
    } catch (error) {
      answer.release();
      this.#fail(error);
    }
  }

  #send(json: string): void {
    this.#call.answer(resultResponse(this.#version, this.#requestId, json, this.#latencyMs));
  }

  #fail(error: unknown): void {
    const told = this.#parts.errorFrom(error);
    const response = errorResponse(this.#version, this.#requestId, told.message, this.#latencyMs);
    this.#call.fail(withResponse(told, response));
  }

  get #latencyMs(): number {
    return this.#parts.clock.now() - this.#arrivedAt;
  }
}
