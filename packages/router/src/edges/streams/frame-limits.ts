/** What a frame may contain. Every limit has a default, and a message that names it when a frame is over it. */
import { InferenceError, type JsonValue, quote } from '@millrace/protocol';

export interface StreamFrameLimits {
  /** A frame as sent, in either form. */
  readonly frameBytesMax: number;
  /** The text of an input, as it is written. */
  readonly textBytesMax: number;
  readonly tensorsMax: number;
  readonly dimensionsMax: number;
  /** A name, a context, a reason or the key of a parameter. */
  readonly nameBytesMax: number;
  /** Keys of one object of the parameters, also below the first level. */
  readonly parametersMax: number;
  /** The parameters of an `open` together, as they are written. */
  readonly parametersBytesMax: number;
  /** Values of the parameters on all levels together: each takes far more memory and time than the bytes that it is written with. */
  readonly parameterValuesMax: number;
  /** Elements that a frame in JSON writes as `data`; they are read in slices. */
  readonly jsonElementsMax: number;
  /** Elements that a frame in protobuf writes as `data`: they are read at once, and `raw` has no such limit. */
  readonly listedElementsMax: number;
  readonly protocolVersionsMax: number;
}

export const defaultStreamFrameLimits: StreamFrameLimits = Object.freeze({
  frameBytesMax: 16 * 1024 * 1024,
  textBytesMax: 1024 * 1024,
  tensorsMax: 256,
  dimensionsMax: 64,
  nameBytesMax: 4096,
  parametersMax: 256,
  parametersBytesMax: 16 * 1024,
  parameterValuesMax: 1024,
  jsonElementsMax: 1024 * 1024,
  listedElementsMax: 16 * 1024,
  protocolVersionsMax: 16,
});

export function checkFrameLength(bytes: Uint8Array, limits: StreamFrameLimits): void {
  if (bytes.length > limits.frameBytesMax) {
    throw tooLarge(
      `the frame has ${bytes.length} bytes, more than the ${limits.frameBytesMax} allowed; send less in one`,
    );
  }
}

export function checkParameterValues(parameters: JsonValue, { parameterValuesMax }: StreamFrameLimits): void {
  let count = 0;
  const waiting: JsonValue[] = [parameters];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const inside = Array.isArray(value) ? value : Object.values(value);
    count += inside.length;
    if (count > parameterValuesMax) {
      throw tooLarge(`the parameters have more than the ${parameterValuesMax} values allowed; send fewer`);
    }
    for (const one of inside) waiting.push(one);
  }
}

/** The refusal of a frame that is over a limit. */
export function tooLarge(message: string): InferenceError {
  return new InferenceError('request-too-large', message);
}

const streamIdCharactersMax = 128;

/** Safe in paths, header fields and file names. */
const streamIdPattern = /^[A-Za-z0-9._~-]{1,128}$/;

export function isStreamId(id: string): boolean {
  return streamIdPattern.test(id) && id !== '.' && id !== '..';
}

/** Throws for an id that is empty, too long, or has other characters. */
export function checkStreamId(id: string): void {
  checkId(id, 'stream id');
}

/** As `checkStreamId`, for the id of a client. */
export function checkClientId(id: string): void {
  checkId(id, 'client id');
}

function checkId(id: string, what: string): void {
  if (isStreamId(id)) return;
  throw new InferenceError(
    'invalid-request',
    `the ${what} ${quote(id)} must have 1 to ${streamIdCharactersMax} characters of A-Z a-z 0-9 . _ ~ - and not be . or ..`,
  );
}
