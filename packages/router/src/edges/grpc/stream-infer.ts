/**
 * Many inferences on one call. Each request begins when it comes; answers leave in the order of the requests, and no
 * faster than the caller reads. A request that fails is answered in its place, and the stream goes on.
 */
import { MemoryRefused, type RequestStream, RpcError, type StreamCall } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import type { CallHead } from './call-turns.ts';
import { hasLongContents } from './decode-request.ts';
import type { StreamResponse } from './encode-stream-response.ts';
import type { InferOperation, ReleasableResponse } from './infer.ts';
import type { InferMessage } from './infer-message.ts';
import { type Place, type StreamLimits, StreamPlaces } from './stream-places.ts';

/** A message of the stream, or why it cannot be taken; then its id is not known. */
export type StreamedMessage = InferMessage | InferenceError;

/** What is used of the messages of a call, and of the call. */
export type StreamedRequests = Pick<RequestStream<StreamedMessage>, 'listen' | 'pause' | 'resume' | 'done'>;
export type InferCall = CallHead &
  Pick<StreamCall<StreamResponse>, 'memory' | 'signal' | 'start' | 'send' | 'onRoom' | 'end' | 'fail' | 'whenEnded'>;

export interface StreamInferParts {
  readonly operation: InferOperation;
  readonly limits: StreamLimits;
  readonly errorFrom: (error: unknown) => RpcError;
}

/** A caller that sets this metadata to `true` wants the call itself to fail with the first request that does. */
const statusField = 'triton_grpc_error';

export class StreamInferOperation {
  readonly #parts: StreamInferParts;
  readonly #streams = new Set<InferStream>();

  constructor(parts: StreamInferParts) {
    this.#parts = parts;
  }

  serve(requests: StreamedRequests, call: InferCall): undefined {
    const stream = new InferStream(requests, call, this.#parts);
    this.#streams.add(stream);
    call.whenEnded(() => {
      this.#streams.delete(stream);
      stream.abandon();
    });
    stream.begin();
    return undefined;
  }

  /** The server goes: what came in is answered, then every stream ends. */
  end(): void {
    for (const stream of this.#streams) stream.end();
  }
}

class InferStream {
  readonly #requests: StreamedRequests;
  readonly #call: InferCall;
  readonly #parts: StreamInferParts;
  readonly #caller: string;
  readonly #failsByStatus: boolean;
  readonly #places: StreamPlaces;
  #isTaking: boolean = false;
  #isHeldBack: boolean = false;
  #hasRoom: boolean = true;
  #isComplete: boolean = false;
  #isEnding: boolean = false;
  #isOver: boolean = false;
  /** Done when the contents of all messages so far are read; undefined: they are. */
  #reading: Promise<void> | undefined = undefined;

  constructor(requests: StreamedRequests, call: InferCall, parts: StreamInferParts) {
    this.#requests = requests;
    this.#call = call;
    this.#parts = parts;
    this.#places = new StreamPlaces(parts.limits);
    this.#caller = parts.operation.callerOf(call);
    this.#failsByStatus = call.metadata.get(statusField) === 'true';
  }

  begin(): void {
    const call = this.#call;
    call.signal.onCancel((reason) => {
      this.#places.cancelAll(reason);
      // Nothing else ends a call that its caller has left.
      if (reason === 'cancelled') call.end();
    });
    // A caller may wait for the head of the answer before it sends anything.
    call.start();
    this.#requests.listen({
      keepsMessages: true,
      onMessage: (message, bytes) => this.#take(message, bytes),
      onEnd: () => {
        this.#isComplete = true;
        this.#send();
      },
    });
  }

  /** Takes nothing more; the caller is told why once it has its answers. */
  end(): void {
    this.#isEnding = true;
    this.#requests.pause();
    this.#send();
  }

  /** The call is over: nobody waits for what is still on its way. */
  abandon(): void {
    this.#isOver = true;
    for (const { outcome, cancellation } of this.#places.takeAll()) {
      cancellation.cancel('cancelled');
      if (outcome !== undefined && 'release' in outcome) outcome.release();
    }
  }

  #take(message: StreamedMessage, bytes: number): void {
    const place = this.#places.add(message instanceof InferenceError ? '' : message.id);
    this.#isTaking = true;
    const answer = message instanceof InferenceError ? Promise.reject(message) : this.#ask(message, place);
    this.#isTaking = false;
    answer.then(
      (given) => {
        this.#requests.done(bytes);
        this.#answered(place, given);
      },
      (error: unknown) => {
        this.#requests.done(bytes);
        this.#refuse(place, error);
        this.#send();
      },
    );
    this.#pace();
  }

  #ask(message: InferMessage, place: Place): Promise<ReleasableResponse> {
    const { operation } = this.#parts;
    // Without parameters it belongs to no sequence.
    const onSlotWait = message.parameters.size === 0 ? undefined : () => this.#waitsForSlot(place);
    const answer = (): Promise<ReleasableResponse> =>
      operation.answer(message, this.#caller, place.cancellation, onSlotWait);
    const isLong = hasLongContents(message);
    if (!isLong && this.#reading === undefined) return answer();
    // The steps of a sequence must not overtake one whose contents take long to read.
    const read = (this.#reading ?? Promise.resolve()).then(() =>
      isLong ? operation.readContents(message, this.#caller, place.cancellation) : undefined,
    );
    const answered = read.then(answer);
    const done = read.then(nothing, nothing).then(() => {
      if (this.#reading === done) this.#reading = undefined;
    });
    this.#reading = done;
    return answered;
  }

  #answered(place: Place, { response, release }: ReleasableResponse): void {
    let bytes = 0;
    for (const { data } of response.outputs) bytes += data.byteLength;
    const outcome = { response: { errorMessage: '', response }, release, bytes };
    if (this.#isOver) {
      release();
      return;
    }
    if (!this.#call.memory.hasRoomToKeep(bytes)) {
      release();
      this.#refuse(place, new InferenceError('caller-full', new MemoryRefused().message));
    } else if (this.#places.settle(place, outcome)) this.#call.memory.count(bytes);
    else release();
    this.#send();
  }

  #refuse(place: Place, error: unknown): void {
    const release = (): void => {};
    const outcome = this.#failsByStatus ? { error } : { response: this.#refusal(place.id, error), release, bytes: 0 };
    this.#places.settle(place, outcome);
  }

  #waitsForSlot(place: Place): void {
    this.#places.noteSlotWait(place);
    if (!this.#isTaking) this.#pace();
  }

  /** Holds the caller back or lets it go on, as there is room. */
  #pace(): void {
    if (this.#isOver) return;
    if (this.#places.isStuck) {
      this.#refuseSlotWaits();
      return;
    }
    const isFull = this.#places.isFull(this.#hasRoom);
    if (isFull && !this.#isHeldBack) {
      this.#isHeldBack = true;
      this.#requests.pause();
    } else if (!isFull && this.#isHeldBack && !this.#isEnding) {
      this.#isHeldBack = false;
      this.#requests.resume();
    }
  }

  /** So much came behind sequences without a slot that they would hold up the stream for good. */
  #refuseSlotWaits(): void {
    const { slotWaitRequestsMax, slotWaitBytesMax } = this.#parts.limits;
    const error = new InferenceError(
      'model-full',
      `the sequence has no slot, and while it waited as much came on its stream as may: ${slotWaitRequestsMax} requests ` +
        `(streamSlotWaitRequestsMax) or ${slotWaitBytesMax} bytes of answers (streamSlotWaitBytesMax); end sequences ` +
        'before more are started on a stream, or start them on another one',
    );
    for (const place of this.#places.slotWaits()) {
      this.#refuse(place, error);
      place.cancellation.cancel('cancelled');
    }
    this.#send();
  }

  #refusal(id: string, error: unknown): StreamResponse {
    const { message } = this.#parts.errorFrom(error);
    return { errorMessage: message, response: { model: '', version: '', id, outputs: [] } };
  }

  #waitForRoom(): void {
    this.#hasRoom = false;
    this.#call.onRoom = () => {
      this.#hasRoom = true;
      this.#send();
    };
  }

  /** What stands at the head of the line and is known. */
  #send(): void {
    while (this.#hasRoom && !this.#isOver) {
      const outcome = this.#places.takeSettled();
      if (outcome === undefined) break;
      if ('error' in outcome) {
        this.#call.fail(outcome.error);
        return;
      }
      // From here on it is counted as what is being sent.
      this.#call.memory.give(outcome.bytes);
      if (!this.#call.send(outcome.response, outcome.release)) this.#waitForRoom();
    }
    if (this.#isOver) return;
    if (this.#places.isEmpty && this.#isEnding) {
      this.#call.fail(new RpcError('unavailable', 'the server is shutting down; open the stream on another one'));
    } else if (this.#places.isEmpty && this.#isComplete) this.#call.end();
    else this.#pace();
  }
}

function nothing(): void {}
