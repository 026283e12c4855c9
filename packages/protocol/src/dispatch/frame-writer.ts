import { errorCatalogue } from '../errors.ts';
import type { Tensor } from '../tensor.ts';
import {
  alignedLength,
  type FrameFromWorker,
  type FrameToWorker,
  failureTextBytesMax,
  frameBytesMaxDefault,
  frameBytesMaxLeast,
  frameHeaderBytes,
  frameKinds,
  frameMagic,
  type HelloFrame,
  placementInFrame,
  placementShared,
  releaseOffsetsMax,
} from './frame-layout.ts';
import { finishNumberOf, type GenerationReport, generationReportBytes } from './generation-report.ts';
import type {
  AnsweredMessage,
  BatchTensor,
  CallAnsweredMessage,
  CallMessage,
  DispatchMessage,
  FailedMessage,
  PartialAnswerMessage,
  ReadyMessage,
} from './messages.ts';
import { greetingTextOf } from './worker-identity.ts';

const initialBytes = 16_384;
const tensorFieldsBytes = 24;
const tensorsMax = 2 ** 16 - 1;
/** A buffer that grew beyond this for one large frame is not kept for the small ones that follow. */
const recycledBytesMax = 2 ** 20;
const uint32Range = 2 ** 32;
const encoder = new TextEncoder();

/** Tensor data that is not copied into the buffer: it is sent after this many of the buffer's bytes. */
interface Referenced {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Collects the frames of one tick in one buffer, to be written to the socket at once. */
export class FrameWriter {
  readonly #frameBytesMax: number;
  readonly #referenceBytesMin: number;
  /** In the order of the frames. */
  #referenced: Referenced[] = [];
  /** Whether the frame being written refers to its tensors. */
  #refersToTensors: boolean = false;
  #bytes = new Uint8Array(initialBytes);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  /** Offset of the current frame, and of its next field. */
  #start = 0;
  #at = 0;

  /**
   * Tensors of a frame that together have at least `referenceBytesMin` bytes are not copied: `takePieces` returns views
   * of them, which must not change until they are sent.
   */
  constructor(frameBytesMax: number = frameBytesMaxDefault, referenceBytesMin: number = Number.POSITIVE_INFINITY) {
    if (!(frameBytesMax >= frameBytesMaxLeast && frameBytesMax < uint32Range)) {
      throw new RangeError(`the maximum length of a frame must be from ${frameBytesMaxLeast} to 2^32 - 1 bytes`);
    }
    this.#frameBytesMax = frameBytesMax;
    this.#referenceBytesMin = referenceBytesMin;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /**
   * Adds a frame; false, and nothing added, when it would be longer than allowed, which only a `load` and frames with
   * tensors can be. `sharedOffset` is the offset of the tensors' region in shared memory; without it their bytes
   * are sent in the frame.
   */
  append(frame: FrameToWorker | FrameFromWorker, sharedOffset?: number): boolean {
    switch (frame.kind) {
      case 'dispatch':
        return this.#appendDispatch(frame, sharedOffset);
      case 'answered':
        return this.#appendAnswered(frame, sharedOffset);
      case 'partial-answer':
        return this.#appendPartialAnswer(frame, sharedOffset);
      case 'failed':
        return this.#appendFailed(frame, cut(frame.message));
      case 'call':
        return this.#appendCall(frame, sharedOffset);
      case 'call-answered':
        return this.#appendCallAnswered(frame, sharedOffset);
      case 'call-failed':
        return this.#appendCallFailed(
          frame.call,
          errorCatalogue[frame.code].number,
          cut(frame.message),
          frame.retryAfterMs ?? -1,
        );
      case 'call-cancelled':
        this.#begin(frameKinds['call-cancelled'], 24);
        this.#u53(frame.call);
        this.#u53(frame.batch);
        return this.#end();
      case 'cancel':
        this.#begin(frameKinds.cancel, 16);
        this.#u53(frame.batch);
        return this.#end();
      case 'grant':
        this.#begin(frameKinds.grant, 24);
        this.#u53(frame.batch);
        this.#u32(frame.answers);
        this.#u32(0);
        return this.#end();
      case 'release':
        if (frame.offsets.length > releaseOffsetsMax)
          throw new Error(`${frame.offsets.length} releases in a frame; the maximum is ${releaseOffsetsMax}`);
        this.#begin(frameKinds.release, 16 + 8 * frame.offsets.length);
        this.#u32(frame.offsets.length);
        this.#u32(0);
        for (const offset of frame.offsets) this.#u53(offset);
        return this.#end();
      case 'credit':
        this.#begin(frameKinds.credit, 16);
        this.#u32(frame.batchesMax);
        this.#u32(0);
        return this.#end();
      case 'load':
        return this.#appendText(frameKinds.load, 0, encoder.encode(JSON.stringify(frame.spec)));
      case 'load-failed':
        return this.#appendText(
          frameKinds[frame.isFinal === true ? 'load-refused' : 'load-failed'],
          frame.model,
          cut(frame.message),
        );
      case 'unload':
        this.#begin(frameKinds.unload, 16);
        this.#u32(frame.model);
        this.#u32(0);
        return this.#end();
      case 'ready':
        return this.#appendReady(frame);
      case 'stop':
        this.#begin(frameKinds.stop, frameHeaderBytes);
        return this.#end();
      case 'hello':
        return this.#appendHello(frame);
    }
  }

  get hasReferences(): boolean {
    return this.#referenced.length > 0;
  }

  /** All frames since the last call, as they are to be written one after the other. */
  takePieces(): readonly Uint8Array[] {
    const referenced = this.#referenced;
    this.#referenced = [];
    const copied = this.takeBytes();
    const pieces: Uint8Array[] = [];
    let at = 0;
    for (const reference of referenced) {
      if (reference.at > at) pieces.push(copied.subarray(at, reference.at));
      at = reference.at;
      if (reference.bytes.length > 0) pieces.push(reference.bytes);
    }
    if (copied.length > at) pieces.push(copied.subarray(at));
    return pieces;
  }

  /**
   * All frames since the last call, none of which has references. The bytes belong to the caller, who may `recycle`
   * them once they are sent.
   */
  takeBytes(): Uint8Array<ArrayBuffer> {
    if (this.hasReferences) throw new Error('frames with references to tensors must be taken by takePieces');
    const taken = this.#bytes.subarray(0, this.#length);
    this.#replaceBuffer(new Uint8Array(0));
    this.#length = 0;
    return taken;
  }

  /** Lets the writer reuse this memory for the next frames. */
  recycle(taken: Uint8Array<ArrayBuffer>): void {
    if (this.#length > 0 || taken.buffer.byteLength > recycledBytesMax) return;
    this.#replaceBuffer(new Uint8Array(taken.buffer));
  }

  #appendHello({ versions, toWorkerBytes, toRouterBytes, frameBytesMax, worker }: HelloFrame): boolean {
    const text = worker === undefined ? undefined : encoder.encode(greetingTextOf(worker));
    this.#begin(frameKinds.hello, text === undefined ? 40 : 48 + alignedLength(text.length));
    this.#u32(frameMagic);
    this.#u32(versions.oldest | (versions.newest << 16));
    this.#u53(toWorkerBytes);
    this.#u53(toRouterBytes);
    this.#u53(frameBytesMax);
    if (worker === undefined || text === undefined) return this.#end();
    this.#u32(worker.capacity);
    this.#u32(text.length);
    this.#padded(text);
    return this.#end();
  }

  #appendDispatch(message: DispatchMessage, sharedOffset: number | undefined): boolean {
    const fieldsBytes = 40 + alignedLength(4 * message.outputs.length);
    const { inputs, region } = message;
    if (!this.#beginTensors(frameKinds.dispatch, fieldsBytes, inputs, sharedOffset)) return false;
    this.#u53(message.batch);
    this.#u32(message.model);
    this.#u32(message.outputs.length);
    this.#u53(sharedOffset ?? 0);
    this.#u53(sharedOffset === undefined ? 0 : region.bytes.length);
    for (const output of message.outputs) this.#u32(output);
    if (message.outputs.length % 2 === 1) this.#u32(0);
    this.#tensors(inputs, sharedOffset === undefined ? undefined : region.bytes);
    return this.#end();
  }

  #appendAnswered(message: AnsweredMessage, sharedOffset: number | undefined): boolean {
    const { outputs, region } = message;
    const fieldsBytes = 40 + reportBytesOf(message);
    if (!this.#beginTensors(frameKinds.answered, fieldsBytes, outputs, sharedOffset)) return false;
    this.#u53(message.batch);
    this.#f64(message.runMicros);
    this.#u53(sharedOffset ?? 0);
    this.#u53(sharedOffset === undefined ? 0 : region.bytes.length);
    this.#tensors(outputs, sharedOffset === undefined ? undefined : region.bytes);
    this.#report(message.generation);
    return this.#end();
  }

  #appendPartialAnswer(message: PartialAnswerMessage, sharedOffset: number | undefined): boolean {
    const { outputs, region } = message;
    const fieldsBytes = 40 + reportBytesOf(message);
    if (!this.#beginTensors(frameKinds['partial-answer'], fieldsBytes, outputs, sharedOffset)) return false;
    this.#u53(message.batch);
    this.#u53(message.sequence);
    this.#u53(sharedOffset ?? 0);
    this.#u53(sharedOffset === undefined ? 0 : region.bytes.length);
    this.#tensors(outputs, sharedOffset === undefined ? undefined : region.bytes);
    this.#report(message.generation);
    return this.#end();
  }

  #appendCall(message: CallMessage, sharedOffset: number | undefined): boolean {
    const { model, version, outputs, inputs, region } = message;
    const head = encoder.encode(JSON.stringify({ model, version, outputs, inputs: headersOf(inputs) }));
    const indexed = inputs.map(withIndex);
    if (!this.#beginTensors(frameKinds.call, 56 + alignedLength(head.length), indexed, sharedOffset)) return false;
    this.#u53(message.call);
    this.#u53(message.batch);
    this.#f64(message.timeoutMs);
    this.#u53(sharedOffset ?? 0);
    this.#u53(sharedOffset === undefined ? 0 : region.bytes.length);
    this.#u32(0);
    this.#u32(head.length);
    this.#padded(head);
    this.#tensors(indexed, sharedOffset === undefined ? undefined : region.bytes);
    return this.#end();
  }

  #appendCallAnswered(message: CallAnsweredMessage, sharedOffset: number | undefined): boolean {
    const { outputs, region } = message;
    const head = encoder.encode(JSON.stringify(headersOf(outputs)));
    const indexed = outputs.map(withIndex);
    const fieldsBytes = 48 + alignedLength(head.length);
    if (!this.#beginTensors(frameKinds['call-answered'], fieldsBytes, indexed, sharedOffset)) return false;
    this.#u53(message.call);
    this.#u53(message.batch);
    this.#u53(sharedOffset ?? 0);
    this.#u53(sharedOffset === undefined ? 0 : region.bytes.length);
    this.#u32(0);
    this.#u32(head.length);
    this.#padded(head);
    this.#tensors(indexed, sharedOffset === undefined ? undefined : region.bytes);
    return this.#end();
  }

  #appendCallFailed(call: number, code: number, text: Uint8Array, retryAfterMs: number): boolean {
    this.#begin(frameKinds['call-failed'], 32 + alignedLength(text.length));
    this.#u53(call);
    this.#f64(retryAfterMs);
    this.#u32(code);
    this.#u32(text.length);
    this.#padded(text);
    return this.#end();
  }

  #appendReady({ model, loadMs, residentBytes, cost, probe }: ReadyMessage): boolean {
    const text = cost === undefined || probe === undefined ? undefined : encoder.encode(JSON.stringify(probe));
    const probeBytes = text === undefined ? 0 : 8 + alignedLength(text.length);
    this.#begin(frameKinds.ready, (cost === undefined ? 32 : 48) + probeBytes);
    this.#u32(model);
    this.#u32(0);
    this.#f64(loadMs);
    this.#u53(residentBytes);
    if (cost === undefined) return this.#end();
    this.#u53(cost.addedBytes);
    this.#f64(cost.processorMs);
    if (text === undefined) return this.#end();
    this.#u32(0);
    this.#u32(text.length);
    this.#padded(text);
    return this.#end();
  }

  #appendFailed(message: FailedMessage, text: Uint8Array): boolean {
    this.#begin(frameKinds.failed, 24 + alignedLength(text.length) + reportBytesOf(message));
    this.#u53(message.batch);
    this.#u32(errorCatalogue[message.code].number);
    this.#u32(text.length);
    this.#padded(text);
    this.#report(message.generation);
    return this.#end();
  }

  #report(report: GenerationReport | undefined): void {
    if (report === undefined) return;
    this.#u32(report.usage?.promptTokens ?? 0);
    this.#u32(finishNumberOf(report.usage?.finishReason));
    this.#u32(report.running);
    this.#u32(report.waiting);
    this.#u53(report.cacheBytes);
    this.#u53(report.cacheBytesMax);
    this.#u53(report.preemptions);
  }

  #appendText(kind: number, model: number, text: Uint8Array): boolean {
    if (!this.#begin(kind, 16 + alignedLength(text.length))) return false;
    this.#u32(model);
    this.#u32(text.length);
    this.#padded(text);
    return this.#end();
  }

  #beginTensors(
    kind: number,
    fieldsBytes: number,
    tensors: readonly BatchTensor[],
    sharedOffset: number | undefined,
  ): boolean {
    let bytes = fieldsBytes;
    let dataBytes = 0;
    for (const { shape, data } of tensors) {
      bytes += tensorFieldsBytes + 8 * shape.length;
      if (sharedOffset === undefined) dataBytes += alignedLength(data.length);
    }
    this.#refersToTensors = dataBytes >= this.#referenceBytesMin;
    const copiedBytes = this.#refersToTensors ? bytes : bytes + dataBytes;
    if (tensors.length > tensorsMax || !this.#begin(kind, bytes + dataBytes, copiedBytes)) return false;
    this.#view.setUint8(this.#start + 5, sharedOffset === undefined ? placementInFrame : placementShared);
    this.#view.setUint16(this.#start + 6, tensors.length, true);
    return true;
  }

  /** `regionBytes` is given when the data is already in the region. */
  #tensors(tensors: readonly BatchTensor[], regionBytes: Uint8Array | undefined): void {
    let dataOffset = this.#at - this.#start;
    for (const { shape } of tensors) dataOffset += tensorFieldsBytes + 8 * shape.length;
    for (const { index, shape, data } of tensors) {
      this.#u32(index);
      this.#u32(shape.length);
      this.#u53(regionBytes === undefined ? dataOffset : offsetWithin(regionBytes, data));
      this.#u53(data.length);
      for (const dimension of shape) this.#u53(dimension);
      if (regionBytes === undefined) dataOffset += alignedLength(data.length);
    }
    if (regionBytes !== undefined) return;
    for (const { data } of tensors) {
      if (this.#refersToTensors) this.#refer(data);
      else this.#padded(data);
    }
  }

  #refer(data: Uint8Array): void {
    const padding = noughts.subarray(0, alignedLength(data.length) - data.length);
    this.#referenced.push({ at: this.#at, bytes: data }, { at: this.#at, bytes: padding });
  }

  #begin(kind: number, frameBytes: number, copiedBytes: number = frameBytes): boolean {
    if (frameBytes > this.#frameBytesMax) return false;
    this.#start = this.#length;
    this.#at = this.#start + frameHeaderBytes;
    this.#length += copiedBytes;
    if (this.#length > this.#bytes.length) this.#grow();
    this.#view.setUint32(this.#start, frameBytes, true);
    this.#view.setUint32(this.#start + 4, kind, true);
    return true;
  }

  #end(): true {
    if (this.#at !== this.#length)
      throw new Error(`the computed length of a frame of ${this.#length - this.#start} bytes was wrong`);
    return true;
  }

  #grow(): void {
    const kept = this.#bytes.subarray(0, this.#start);
    const doubled = Math.min(2 * this.#bytes.length, recycledBytesMax);
    this.#replaceBuffer(new Uint8Array(Math.max(this.#length, doubled, initialBytes)));
    this.#bytes.set(kept);
  }

  #replaceBuffer(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }

  #u32(value: number): void {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  #u53(value: number): void {
    this.#view.setUint32(this.#at, value % uint32Range, true);
    this.#view.setUint32(this.#at + 4, Math.floor(value / uint32Range), true);
    this.#at += 8;
  }

  #f64(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** The gap up to the alignment is cleared: recycled memory must not leak old bytes to the peer. */
  #padded(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#at);
    const end = this.#at + bytes.length;
    this.#at += alignedLength(bytes.length);
    this.#bytes.fill(0, end, this.#at);
  }
}

function headersOf(tensors: readonly Tensor[]): readonly (readonly [name: string, datatype: string])[] {
  return tensors.map(({ name, datatype }) => [name, datatype]);
}

function withIndex({ shape, data }: Tensor, index: number): BatchTensor {
  return { index, shape, data };
}

function reportBytesOf({ generation }: Pick<FailedMessage, 'generation'>): number {
  return generation === undefined ? 0 : generationReportBytes;
}

/** Padding after a tensor. */
const noughts = new Uint8Array(alignedLength(1));

const cutText = new Uint8Array(failureTextBytesMax);

/** UTF-8 of as many whole characters as fit; valid until the next call. */
function cut(text: string): Uint8Array {
  return cutText.subarray(0, encoder.encodeInto(text, cutText).written);
}

function offsetWithin(region: Uint8Array, data: Uint8Array): number {
  const offset = data.byteOffset - region.byteOffset;
  if (data.buffer !== region.buffer || offset < 0 || offset + data.length > region.length) {
    throw new Error('the data of a tensor must be a view of its message\u2019s region');
  }
  return offset;
}
