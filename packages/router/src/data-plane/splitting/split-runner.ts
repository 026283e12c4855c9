/**
 * Runs requests with more rows than a batch may have: in parts, each an ordinary request to the model's queue, whose
 * outputs are joined in the order of the rows. Only for models that share runs, so that rows are independent.
 */
import { Cancellation, type CancelSignal, frameBytesMaxDefault, InferenceError, type Tensor } from '@millrace/protocol';
import { isLongTexts } from '../bytes-check.ts';
import type { InferAnswer, Runner } from '../infer.ts';
import { type Copy, copySlices, finish } from '../sliced-work/copy-slices.ts';
import { copySliceBytesMax, type SlicedWork } from '../sliced-work/sliced-work.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { JoinedOutput, type RowSlicer, rowSlicerSlices } from './row-slices.ts';

/** The most parts of one request; a request with still more rows has larger parts, which run alone. */
export const splitPartsMax = 1024;
/** The most parts of one request that wait or run at once: enough for several workers, without flooding the queue. */
export const splitPartsAtOnceMax = 16;
/** The most bytes of the outputs of all parts: as of a request that is not split, whose answer is a message of its worker. */
export const splitAnswerBytesMax: number = frameBytesMaxDefault;

type Enqueue = (request: ValidInferRequest, signal: CancelSignal) => Promise<InferAnswer>;

export class SplitRunner implements Runner {
  readonly #enqueue: Enqueue;
  readonly #sliced: SlicedWork;
  readonly #answerBytesMax: number;

  constructor(enqueue: Enqueue, sliced: SlicedWork, answerBytesMax = splitAnswerBytesMax) {
    this.#enqueue = enqueue;
    this.#sliced = sliced;
    this.#answerBytesMax = answerBytesMax;
  }

  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      const split = new SplitRequest(request, this.#enqueue, this.#sliced, this.#answerBytesMax);
      const stopListening = signal.onCancel((reason) => split.cancel(reason));
      split.start((outcome) => {
        stopListening();
        if (outcome instanceof InferenceError) reject(outcome);
        else resolve(outcome);
      });
    });
  }
}

class SplitRequest {
  readonly #request: ValidInferRequest;
  readonly #enqueue: Enqueue;
  readonly #sliced: SlicedWork;
  readonly #answerBytesMax: number;
  readonly #partRows: number;
  /** One for each input, once it is started. */
  #slicers: readonly (RowSlicer | undefined)[] = [];
  readonly #cancellation = new Cancellation();
  /** Of the wanted outputs, in their order; empty until the first part is answered. */
  #outputs: readonly JoinedOutput[] = [];
  /** Of the outputs: all rows where these have equal sizes, and the texts of the parts that were answered. */
  #answerBytes = 0;
  /** First rows of the parts still to be submitted, the last part first. */
  readonly #waiting: number[] = [];
  #atOnceMax: number;
  #atOnce = 0;
  #failure: InferenceError | undefined;
  #onEnd: (outcome: InferAnswer | InferenceError) => void = () => {};

  constructor(request: ValidInferRequest, enqueue: Enqueue, sliced: SlicedWork, answerBytesMax: number) {
    const { rows, model } = request;
    this.#answerBytesMax = answerBytesMax;
    this.#request = request;
    this.#enqueue = enqueue;
    this.#sliced = sliced;
    this.#partRows = Math.max(model.view.rowsMax, Math.ceil(rows / splitPartsMax));
    for (let row = 0; row < rows; row += this.#partRows) this.#waiting.unshift(row);
    this.#atOnceMax = Math.min(splitPartsAtOnceMax, this.#waiting.length);
  }

  /** Calls back once, when no part waits or runs any more. */
  start(onEnd: (outcome: InferAnswer | InferenceError) => void): void {
    this.#onEnd = onEnd;
    const slices = this.#slicerSlices();
    if (this.#request.inputs.some((tensor) => tensor !== undefined && isLongTexts(tensor))) {
      this.#sliced.run(slices, () => this.#submitParts(), undefined, this.#request.caller);
      return;
    }
    finish(slices);
    this.#submitParts();
  }

  *#slicerSlices(): Generator<void, void> {
    const { inputs, rows } = this.#request;
    const slicers: (RowSlicer | undefined)[] = [];
    for (const tensor of inputs) slicers.push(tensor && (yield* rowSlicerSlices(tensor, rows)));
    this.#slicers = slicers;
  }

  /** Cancels the parts that wait or run; their failures end the request. */
  cancel(reason: 'cancelled' | 'deadline-exceeded'): void {
    this.#cancellation.cancel(reason);
  }

  #submitParts(): void {
    while (this.#failure === undefined && this.#atOnce < this.#atOnceMax) {
      const firstRow = this.#waiting.pop();
      if (firstRow === undefined) return;
      this.#atOnce += 1;
      this.#submit(firstRow);
    }
  }

  #submit(firstRow: number): void {
    const end = Math.min(firstRow + this.#partRows, this.#request.rows);
    const inputs = this.#slicers.map((slice) => slice?.(firstRow, end));
    const part = ValidInferRequest.part(this.#request, inputs, end - firstRow);
    this.#enqueue(part, this.#cancellation).then(
      (answer) => this.#answered(answer, firstRow, end - firstRow),
      (error: InferenceError) => this.#refused(error, firstRow),
    );
  }

  #answered(answer: InferAnswer, firstRow: number, rows: number): void {
    let copies: readonly Copy[] = [];
    try {
      if (this.#failure === undefined) copies = this.#copiesOf(answer.outputs, firstRow, rows);
    } catch (error) {
      this.#fail(error instanceof InferenceError ? error : noMemory(this.#answerBytes, error));
    }
    this.#copy(copies, () => {
      answer.release();
      this.#atOnce -= 1;
      this.#goOn();
    });
  }

  /** In one go, or in slices where that would take too long. */
  #copy(copies: readonly Copy[], onDone: () => void): void {
    const slices = copySlices(copies);
    if (copies.reduce((sum, { source }) => sum + source.length, 0) > copySliceBytesMax) {
      this.#sliced.run(slices, onDone);
      return;
    }
    finish(slices);
    onDone();
  }

  #copiesOf(outputs: readonly Tensor[], firstRow: number, rows: number): readonly Copy[] {
    const { rows: allRows, model } = this.#request;
    const isFirst = this.#outputs.length === 0;
    for (const { datatype, data } of outputs) {
      if (datatype === 'BYTES') this.#answerBytes += data.length;
      else if (isFirst) this.#answerBytes += (data.length / rows) * allRows;
    }
    if (this.#answerBytes > this.#answerBytesMax) throw tooLong(this.#answerBytes, this.#answerBytesMax);
    if (isFirst) {
      this.#outputs = outputs.map((output) => new JoinedOutput(output, rows, allRows, model.view.name));
    }
    return outputs.map((output, index) => (this.#outputs[index] as JoinedOutput).add(output, firstRow, rows));
  }

  #refused(error: InferenceError, firstRow: number): void {
    this.#atOnce -= 1;
    // A full queue may have room again when a part of this request has left it.
    if (error.code.endsWith('-full') && this.#atOnce > 0 && this.#failure === undefined) {
      this.#atOnceMax = this.#atOnce;
      this.#waiting.push(firstRow);
    } else this.#fail(error);
    this.#goOn();
  }

  #fail(error: InferenceError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#cancellation.cancel('cancelled');
  }

  #goOn(): void {
    this.#submitParts();
    if (this.#atOnce > 0) return;
    if (this.#failure !== undefined) this.#onEnd(this.#failure);
    else if (this.#waiting.length === 0) {
      const copies = this.#outputs.flatMap((output) => output.join());
      this.#copy(copies, () => this.#onEnd(this.#answer()));
    }
  }

  #answer(): InferAnswer {
    const { id, model } = this.#request;
    const { name, version } = model.view;
    const outputs = this.#outputs.map((output) => output.tensor());
    // The outputs have their own memory.
    return { model: name, version, id, outputs, release: () => {} };
  }
}

/** As the worker says it of a request that is not split. */
function tooLong(bytes: number, bytesMax: number): InferenceError {
  return new InferenceError(
    'unsupported',
    `the answer has ${bytes} bytes or more, and the longest has ${bytesMax}; send fewer rows in a request`,
  );
}

function noMemory(bytes: number, cause: unknown): InferenceError {
  const message = `there is no memory for an answer of ${bytes} bytes; send fewer rows in a request`;
  return new InferenceError('inference-failed', message, { cause });
}
