/**
 * Frames of the server as server-sent events: the event's name is the frame's, its data the frame without the outer key, its
 * id the sequence of the output, which an EventSource sends back as `Last-Event-ID` when it connects again.
 */
import { InferenceError, type JsonWriter, quote, type StreamServerFrame } from '@millrace/protocol';
import type { EncodedOutput } from '../../streams/stream-gateway.ts';
import type { SliceGenerator } from '../slices/slice-queue.ts';
import type { OutputMemo } from './output-memo.ts';
import { writeFrameFields } from './write-frame-json.ts';

/** What an EventSource waits before it connects again. */
const eventRetryMs = 1000;

/**
 * The id of the last event that a connection gets. An EventSource connects again after any end of a response; with this id
 * it says that it has seen the end, and is stopped.
 */
export const finalEventId = 'end';

/**
 * Appends the event. `opened` comes first and carries an id too, the output before the next one: a connection that is
 * lost before any output resumes as well.
 */
export function* writeEvent(writer: JsonWriter, frame: StreamServerFrame): SliceGenerator<void> {
  let head = `event: ${frame.kind}\n`;
  if (frame.kind === 'opened') head += `id: ${frame.nextOutput - 1}\nretry: ${eventRetryMs}\n`;
  else if (frame.kind === 'output') head += `id: ${frame.sequence}\n`;
  else if (frame.kind === 'ended') head += `id: ${finalEventId}\n`;
  // JSON on one line: line breaks in texts are escaped.
  writer.between(`${head}data: `);
  yield* writeFrameFields(writer, frame);
  writer.between('\n\n');
}

/** The same for an output as it is journaled, at once. */
export function writeOutputEvent(writer: JsonWriter, output: EncodedOutput, memo: OutputMemo): void {
  const { sequence, inputSequence, payload, endOfOutput } = output;
  writer.between('event: output\nid: ');
  writer.number(sequence);
  writer.between('\ndata: {"sequence":');
  writer.number(sequence);
  writer.between(',"inputSequence":');
  writer.number(inputSequence);
  // The memo writes its own comma.
  writer.between('');
  if (payload !== undefined) memo.write(writer, payload);
  writer.between(endOfOutput ? ',"endOfOutput":true}\n\n' : '}\n\n');
}

/** The output to resume after, from the id of an event, which stands in the named field; 0 when there is none. */
export function resumeAfterFrom(eventId: string, field: string): number {
  if (eventId === '') return 0;
  const after = /^\d{1,16}$/.test(eventId) ? Number(eventId) : Number.NaN;
  if (Number.isSafeInteger(after)) return after;
  throw new InferenceError('invalid-request', `${field} is ${quote(eventId)}; it must be the sequence of an output`);
}
