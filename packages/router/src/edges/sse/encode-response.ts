/** What the edge of server-sent events answers: events, frames as JSON, and nothing. */
import type { HeaderList, HttpResponse } from '@millrace/http';
import { type InferenceError, JsonWriter, type StreamServerFrame } from '@millrace/protocol';
import type { StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { doAtOnce, type SliceGenerator } from '../slices/slice-queue.ts';
import { serverFrameOf } from '../streams/link-frame.ts';
import type { OutputMemo } from '../streams/output-memo.ts';
import { finalEventId, writeEvent, writeOutputEvent } from '../streams/server-sent-event.ts';
import { writeFrameFieldsJson } from '../streams/write-frame-json.ts';

/** The second keeps nginx, and what follows its example, from collecting events before it passes them on. */
const eventHeaders: HeaderList = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
];

/** A line that clients ignore. */
export const keepAliveComment: Uint8Array = Buffer.from(': keep-alive\n\n');

/** `release` is called when the last event has been sent, or never will be. */
export function eventResponse(events: AsyncIterable<Uint8Array>, release: () => void): HttpResponse {
  return { status: 200, headers: eventHeaders, body: events, release };
}

/** The head of an event stream, for those who ask for nothing else. */
export function eventHeadResponse(): HttpResponse {
  return { status: 200, headers: eventHeaders };
}

export function emptyResponse(): HttpResponse {
  return { status: 204, headers: [['cache-control', 'no-store']] };
}

export function frameResponse(status: number, frame: StreamServerFrame, headers: HeaderList = []): HttpResponse {
  const fields: HeaderList = [['content-type', 'application/json'], ['cache-control', 'no-store'], ...headers];
  return { status, headers: fields, body: doAtOnce(writeFrameFieldsJson(frame)) };
}

/** Of an event with few elements; a writer that is too small grows. */
const eventBytes = 512;

/** Events of a stream are of about the same size; those that are longer by more, by higher numbers, make the writer grow. */
const eventSpareBytes = 64;

/** The events of frames as the host gives them, in one piece, at once. */
export function encodeEvents(frames: readonly StreamLinkFrame[], memo: OutputMemo): Uint8Array {
  const writer = new JsonWriter((memo.eventBytes ?? eventBytes) * frames.length);
  for (const frame of frames) {
    if (frame.kind === 'output') writeOutputEvent(writer, frame, memo);
    else doAtOnce(writeEvent(writer, frame));
  }
  const events = writer.take();
  memo.eventBytes = Math.ceil(events.length / frames.length) + eventSpareBytes;
  return events;
}

/** The same in slices, for large outputs. */
export function* encodeEventSlices(frames: readonly StreamLinkFrame[]): SliceGenerator<Uint8Array> {
  const writer = new JsonWriter(eventBytes * frames.length);
  for (const frame of frames) yield* writeEvent(writer, serverFrameOf(frame));
  return writer.take();
}

/**
 * The event before a connection that the stream goes on without is closed. After most errors an EventSource connects again
 * and resumes; one whose stream was resumed by another client must not take it back, or both would do so forever.
 */
export function encodeErrorEvent({ code, message }: InferenceError): Uint8Array {
  const writer = new JsonWriter(256);
  writer.beginObject();
  writer.key('code');
  writer.string(code);
  writer.key('message');
  writer.string(message);
  writer.endObject();
  const id = code === 'stream-superseded' ? `id: ${finalEventId}\n` : '';
  return Buffer.concat([Buffer.from(`event: error\n${id}data: `), writer.take(), Buffer.from('\n\n')]);
}
