/**
 * Entries of a stream as the journal stores them: a kind, flags, fixed numbers, then the payload as it is. The opening
 * carries the version of the format.
 */
import type { StreamEntry, StreamError } from '@millrace/core';
import { InferenceError } from '@millrace/protocol';

/** Of all entries of a log; written into its opening. A later one is not read. */
export const entryFormat = 1;

const kinds = { opening: 1, input: 2, output: 3, checkpoint: 4, ending: 5 } as const;

const isLastFlag = 1;
const isDroppedFlag = 2;
const hasEventTimeFlag = 4;
const hasPayloadFlag = 8;

const headBytes = 2;
const numberBytes = 8;

export function encodeEntry(entry: StreamEntry<Uint8Array>): Uint8Array {
  switch (entry.kind) {
    case 'opening':
      return written(kinds.opening, 0, [entryFormat, entry.expiresAt], entry.payload);
    case 'input': {
      const { sequence, payload, isLast, isDropped, eventTime } = entry;
      const flags = (isLast ? isLastFlag : 0) | (isDropped ? isDroppedFlag : 0) | flagsOf(eventTime, payload);
      return pairWritten(kinds.input, flags, sequence, eventTime ?? 0, payload);
    }
    case 'output': {
      const { sequence, input, payload, isLast } = entry;
      const flags = (isLast ? isLastFlag : 0) | flagsOf(undefined, payload);
      return pairWritten(kinds.output, flags, sequence, input, payload);
    }
    case 'checkpoint': {
      const { input, isEndOfInput, state, outputs, partialOutputs, acknowledgedOutput, eventTimeMax } = entry;
      const flags = (isEndOfInput ? isLastFlag : 0) | flagsOf(eventTimeMax, state);
      const numbers = [input, outputs, partialOutputs, acknowledgedOutput, eventTimeMax ?? 0];
      return written(kinds.checkpoint, flags, numbers, state);
    }
    case 'ending': {
      const { outcome, error, outputs, endedAt } = entry;
      return written(kinds.ending, 0, [outputs], Buffer.from(JSON.stringify({ outcome, error, endedAt })));
    }
  }
}

export function decodeEntry(bytes: Uint8Array): StreamEntry<Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < headBytes) throw unreadable('it is empty');
  const flags = view.getUint8(1);
  const number = (index: number): number => {
    const offset = headBytes + index * numberBytes;
    if (offset + numberBytes > bytes.length) throw unreadable('it is cut off');
    return view.getFloat64(offset, true);
  };
  const after = (numbers: number): Uint8Array => bytes.subarray(headBytes + numbers * numberBytes);
  const isLast = (flags & isLastFlag) !== 0;
  const hasPayload = (flags & hasPayloadFlag) !== 0;
  const eventTime = (index: number): number | undefined =>
    (flags & hasEventTimeFlag) === 0 ? undefined : number(index);
  switch (view.getUint8(0)) {
    case kinds.opening:
      if (number(0) > entryFormat)
        throw unreadable(`its format is ${number(0)}, and this server reads up to ${entryFormat}`);
      return { kind: 'opening', expiresAt: number(1), payload: after(2) };
    case kinds.input: {
      const isDropped = (flags & isDroppedFlag) !== 0;
      const payload = hasPayload ? after(2) : undefined;
      return { kind: 'input', sequence: number(0), eventTime: eventTime(1), isLast, isDropped, payload };
    }
    case kinds.output: {
      const payload = hasPayload ? after(2) : undefined;
      return { kind: 'output', sequence: number(0), input: number(1), isLast, payload };
    }
    case kinds.checkpoint:
      return {
        kind: 'checkpoint',
        input: number(0),
        isEndOfInput: isLast,
        outputs: number(1),
        partialOutputs: number(2),
        acknowledgedOutput: number(3),
        eventTimeMax: eventTime(4),
        state: hasPayload ? after(5) : undefined,
      };
    case kinds.ending: {
      const { outcome, error, endedAt } = JSON.parse(Buffer.from(after(1)).toString()) as {
        readonly outcome: 'done' | 'failed' | 'cancelled' | 'expired';
        readonly error?: StreamError;
        readonly endedAt: number;
      };
      return { kind: 'ending', outcome, error, outputs: number(0), endedAt };
    }
    default:
      throw unreadable(`it has the unknown kind ${view.getUint8(0)}`);
  }
}

function flagsOf(eventTime: number | undefined, payload: Uint8Array | undefined): number {
  return (eventTime === undefined ? 0 : hasEventTimeFlag) | (payload === undefined ? 0 : hasPayloadFlag);
}

function written(kind: number, flags: number, numbers: readonly number[], payload?: Uint8Array): Uint8Array {
  const start = headBytes + numbers.length * numberBytes;
  const bytes = Buffer.allocUnsafe(start + (payload?.length ?? 0));
  bytes[0] = kind;
  bytes[1] = flags;
  for (let index = 0; index < numbers.length; index++) {
    bytes.writeDoubleLE(numbers[index] as number, headBytes + index * numberBytes);
  }
  if (payload !== undefined) bytes.set(payload, start);
  return bytes;
}

/** The same for inputs and outputs, of which there are far more than of all others: without a list of their numbers. */
function pairWritten(
  kind: number,
  flags: number,
  first: number,
  second: number,
  payload: Uint8Array | undefined,
): Uint8Array {
  const start = headBytes + 2 * numberBytes;
  const bytes = Buffer.allocUnsafe(start + (payload === undefined ? 0 : payload.length));
  bytes[0] = kind;
  bytes[1] = flags;
  bytes.writeDoubleLE(first, headBytes);
  bytes.writeDoubleLE(second, headBytes + numberBytes);
  if (payload !== undefined) bytes.set(payload, start);
  return bytes;
}

function unreadable(reason: string): InferenceError {
  return new InferenceError('journal-unavailable', `an entry of the stream's journal cannot be read: ${reason}`);
}
