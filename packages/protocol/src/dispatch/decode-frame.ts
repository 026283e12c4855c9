/**
 * Decodes frames into messages, one function per direction, so that a frame in the wrong direction is refused like any
 * other. Bytes after the last known field are ignored: a newer release may have appended fields.
 */
import { type ErrorCode, takeErrorCode } from '../errors.ts';
import type { Tensor } from '../tensor.ts';
import { type CallTensorHeader, callHeadFrom, headersFrom } from './call-head.ts';
import { FrameCursor } from './frame-cursor.ts';
import {
  alignedLength,
  type FindShared,
  type FrameFromWorker,
  type FrameToWorker,
  frameBytesMaxLeast,
  frameHeaderBytes,
  frameKinds,
  frameMagic,
  type HelloFrame,
  MalformedFrame,
  placementInFrame,
  placementShared,
  UnknownFrameKind,
} from './frame-layout.ts';
import { takeGenerationReport } from './generation-report.ts';
import { generatorProbeFrom } from './generator-probe.ts';
import { HeapRegion } from './heap-region.ts';
import { loadSpecFrom } from './load-spec.ts';
import type {
  AnsweredMessage,
  BatchTensor,
  CallAnsweredMessage,
  CallFailedMessage,
  CallMessage,
  DispatchMessage,
  PartialAnswerMessage,
  Region,
} from './messages.ts';
import { workerIdentityFrom } from './worker-identity.ts';

const tensorFieldsBytes = 24;

export function decodeToWorker(frame: Uint8Array, findShared: FindShared): FrameToWorker {
  const cursor = new FrameCursor(frame, frameHeaderBytes);
  const kind = frame[4] as number;
  switch (kind) {
    case frameKinds.dispatch:
      return dispatchFrom(cursor, findShared);
    case frameKinds.cancel:
      return { kind: 'cancel', batch: cursor.u53() };
    case frameKinds.grant:
      return { kind: 'grant', batch: cursor.u53(), answers: cursor.u32() };
    case frameKinds['call-answered']:
      return callAnsweredFrom(cursor, findShared);
    case frameKinds['call-failed']:
      return callFailedFrom(cursor);
    case frameKinds.release:
      return { kind: 'release', offsets: offsetsFrom(cursor) };
    case frameKinds.load: {
      cursor.skip(4);
      return { kind: 'load', spec: loadSpecFrom(cursor.text(cursor.u32())) };
    }
    case frameKinds.unload:
      return { kind: 'unload', model: cursor.u32() };
    case frameKinds.stop:
      return { kind: 'stop' };
    case frameKinds.hello:
      return helloFrom(cursor);
    default:
      throw new UnknownFrameKind(kind, 'goes to a worker');
  }
}

export function decodeFromWorker(frame: Uint8Array, findShared: FindShared): FrameFromWorker {
  const cursor = new FrameCursor(frame, frameHeaderBytes);
  const kind = frame[4] as number;
  switch (kind) {
    case frameKinds.answered:
      return answeredFrom(cursor, findShared);
    case frameKinds['partial-answer']:
      return partialAnswerFrom(cursor, findShared);
    case frameKinds.failed: {
      const batch = cursor.u53();
      return { kind: 'failed', batch, ...failureFrom(cursor), ...generationFrom(cursor) };
    }
    case frameKinds.call:
      return callFrom(cursor, findShared);
    case frameKinds['call-cancelled']:
      return { kind: 'call-cancelled', call: cursor.u53(), batch: cursor.u53() };
    case frameKinds.credit:
      return { kind: 'credit', batchesMax: cursor.u32() };
    case frameKinds.ready: {
      const model = cursor.u32();
      cursor.skip(4);
      const ready = { kind: 'ready', model, loadMs: cursor.f64(), residentBytes: cursor.u53() } as const;
      if (cursor.isAtEnd) return ready;
      const cost = { addedBytes: cursor.u53(), processorMs: cursor.f64() };
      if (cursor.isAtEnd) return { ...ready, cost };
      cursor.skip(4);
      const probe = generatorProbeFrom(cursor.text(cursor.u32()));
      return probe === undefined ? { ...ready, cost } : { ...ready, cost, probe };
    }
    case frameKinds['load-failed']: {
      const model = cursor.u32();
      return { kind: 'load-failed', model, message: cursor.text(cursor.u32()) };
    }
    case frameKinds['load-refused']: {
      const model = cursor.u32();
      return { kind: 'load-failed', model, message: cursor.text(cursor.u32()), isFinal: true };
    }
    case frameKinds.hello:
      return helloFrom(cursor);
    default:
      throw new UnknownFrameKind(kind, 'comes from a worker');
  }
}

function helloFrom(cursor: FrameCursor): HelloFrame {
  if (cursor.u32() !== frameMagic)
    throw new MalformedFrame('the peer does not use the dispatch protocol: its first frame has a wrong magic number');
  const range = cursor.u32();
  const versions = { oldest: range & 0xffff, newest: range >>> 16 };
  const toWorkerBytes = cursor.u53();
  const toRouterBytes = cursor.u53();
  const frameBytesMax = cursor.u53();
  if (frameBytesMax < frameBytesMaxLeast)
    throw new MalformedFrame(
      `the peer accepts frames of at most ${frameBytesMax} bytes; it must accept at least ${frameBytesMaxLeast}`,
    );
  const hello = { kind: 'hello', versions, toWorkerBytes, toRouterBytes, frameBytesMax } as const;
  if (cursor.isAtEnd) return hello;
  const capacity = cursor.u32();
  return { ...hello, worker: workerIdentityFrom(capacity, cursor.text(cursor.u32())) };
}

function offsetsFrom(cursor: FrameCursor): number[] {
  const count = cursor.u32();
  cursor.skip(4);
  cursor.mustHold(count, 8);
  const offsets: number[] = [];
  for (let index = 0; index < count; index++) offsets.push(cursor.u53());
  return offsets;
}

function dispatchFrom(cursor: FrameCursor, findShared: FindShared): DispatchMessage {
  const batch = cursor.u53();
  const model = cursor.u32();
  const outputCount = cursor.u32();
  const region = regionFrom(cursor, findShared);
  cursor.mustHold(outputCount, 4);
  const outputs: number[] = [];
  for (let index = 0; index < outputCount; index++) outputs.push(cursor.u32());
  if (outputCount % 2 === 1) cursor.skip(4);
  return { kind: 'dispatch', batch, model, inputs: tensorsFrom(cursor, region), outputs, region };
}

function answeredFrom(cursor: FrameCursor, findShared: FindShared): AnsweredMessage {
  const batch = cursor.u53();
  const runMicros = cursor.f64();
  const region = regionFrom(cursor, findShared);
  const outputs = tensorsFrom(cursor, region);
  return { kind: 'answered', batch, outputs, region, runMicros, ...generationFrom(cursor) };
}

function partialAnswerFrom(cursor: FrameCursor, findShared: FindShared): PartialAnswerMessage {
  const batch = cursor.u53();
  const sequence = cursor.u53();
  const region = regionFrom(cursor, findShared);
  const outputs = tensorsFrom(cursor, region);
  const generation = takeGenerationReport(cursor);
  if (generation === undefined) return { kind: 'partial-answer', batch, sequence, outputs, region };
  return { kind: 'partial-answer', batch, sequence, outputs, region, generation };
}

function generationFrom(cursor: FrameCursor): Pick<AnsweredMessage, 'generation'> {
  const generation = takeGenerationReport(cursor);
  return generation === undefined ? {} : { generation };
}

function callFrom(cursor: FrameCursor, findShared: FindShared): CallMessage {
  const call = cursor.u53();
  const batch = cursor.u53();
  const timeoutMs = cursor.f64();
  if (!(timeoutMs >= 0)) throw new MalformedFrame(`the timeout of a call is ${timeoutMs} ms; it must be 0 or more`);
  const region = regionFrom(cursor, findShared);
  cursor.skip(4);
  const { model, version, outputs, inputs } = callHeadFrom(cursor.text(cursor.u32()));
  const tensors = namedTensorsFrom(cursor, region, inputs);
  return { kind: 'call', call, batch, model, version, inputs: tensors, outputs, timeoutMs, region };
}

function callAnsweredFrom(cursor: FrameCursor, findShared: FindShared): CallAnsweredMessage {
  const call = cursor.u53();
  const batch = cursor.u53();
  const region = regionFrom(cursor, findShared);
  cursor.skip(4);
  const headers = headersFrom(cursor.text(cursor.u32()));
  return { kind: 'call-answered', call, batch, outputs: namedTensorsFrom(cursor, region, headers), region };
}

function callFailedFrom(cursor: FrameCursor): CallFailedMessage {
  const call = cursor.u53();
  const retryAfterMs = cursor.f64();
  const failure = { kind: 'call-failed', call, ...failureFrom(cursor) } as const;
  return retryAfterMs >= 0 ? { ...failure, retryAfterMs } : failure;
}

/** An unknown number, as a newer release may send, is a failure that must not be retried. */
function failureFrom(cursor: FrameCursor): { readonly code: ErrorCode; readonly message: string } {
  const number = cursor.u32();
  const message = cursor.text(cursor.u32());
  const code = takeErrorCode(number);
  if (code !== undefined) return { code, message };
  return { code: 'inference-failed', message: `unknown error number ${number}: ${message}` };
}

function namedTensorsFrom(cursor: FrameCursor, region: Region, headers: readonly CallTensorHeader[]): Tensor[] {
  const tensors = tensorsFrom(cursor, region);
  if (tensors.length !== headers.length)
    throw new MalformedFrame(`a frame declares ${headers.length} tensors but contains ${tensors.length}`);
  return tensors.map(({ index, shape, data }, position) => {
    if (index !== position) throw new MalformedFrame('the tensors of a call are not in order');
    return { ...(headers[position] as CallTensorHeader), shape, data };
  });
}

function regionFrom(cursor: FrameCursor, findShared: FindShared): Region {
  const placement = cursor.frame[5];
  const offset = cursor.u53();
  const bytes = cursor.u53();
  if (placement === placementInFrame) return new HeapRegion(cursor.frame);
  if (placement !== placementShared) throw new MalformedFrame(`unknown placement ${placement} of tensor data`);
  const region = findShared(offset, bytes);
  if (region === undefined)
    throw new MalformedFrame(`${bytes} bytes at offset ${offset} are outside of the shared memory`);
  return region;
}

function tensorsFrom(cursor: FrameCursor, region: Region): BatchTensor[] {
  const isInFrame = region.bytes === cursor.frame;
  const count = cursor.u16At(6);
  cursor.mustHold(count, tensorFieldsBytes);
  const tensors: BatchTensor[] = [];
  let dataBytes = 0;
  let firstOffset = Number.POSITIVE_INFINITY;
  for (let position = 0; position < count; position++) {
    const index = cursor.u32();
    const rank = cursor.u32();
    const offset = cursor.u53();
    const bytes = cursor.u53();
    cursor.mustHold(rank, 8);
    const shape: number[] = [];
    for (let axis = 0; axis < rank; axis++) shape.push(cursor.u53());
    if (offset + bytes > region.bytes.length)
      throw new MalformedFrame(
        `a tensor of ${bytes} bytes at offset ${offset} is outside of its region of ${region.bytes.length} bytes`,
      );
    if (isInFrame && offset % 8 !== 0)
      throw new MalformedFrame(`a tensor in a frame begins at offset ${offset}, which is not a multiple of 8`);
    tensors.push({ index, shape, data: region.bytes.subarray(offset, offset + bytes) });
    dataBytes += alignedLength(bytes);
    firstOffset = Math.min(firstOffset, offset);
  }
  if (isInFrame) {
    if (firstOffset < cursor.at) throw new MalformedFrame('a tensor overlaps the fields of its frame');
    cursor.skip(dataBytes);
  }
  return tensors;
}
