/** Makes frames of the fields that were read, in whichever form: the checks that protobuf and JSON share. */
import {
  type Datatype,
  InferenceError,
  type InputFrame,
  type JsonObject,
  type OpenFrame,
  type OpenMode,
  openModes,
  quote,
  type StreamCredit,
  type StreamPayload,
  streamProtocolVersion,
  type Tensor,
  tensorProblem,
} from '@millrace/protocol';
import { datatypeFrom } from '../datatype-from.ts';
import { checkClientId, checkStreamId } from './frame-limits.ts';

/** The fields of an `open` as they are read. */
export class OpenFields {
  streamId = '';
  mode = '';
  context = '';
  parameters: JsonObject | undefined = undefined;
  resumeAfter = 0;
  outputCredit: StreamCredit | undefined = undefined;
  readonly protocolVersions: number[] = [];
  clientId = '';
  attempt = 0;
}

export function openFrameFrom(fields: OpenFields): OpenFrame {
  const { streamId, protocolVersions, clientId, attempt } = fields;
  if (streamId !== '') checkStreamId(streamId);
  if (clientId !== '') checkClientId(clientId);
  else if (attempt > 0)
    throw invalidFrame(`open.attempt is ${attempt}, but there is no open.client_id to count it for`);
  for (const version of protocolVersions) {
    if (!(version >= 0 && version < 2 ** 32))
      throw invalidFrame(`open.protocol_versions has ${version}, which is no version`);
  }
  return {
    kind: 'open',
    streamId: streamId === '' ? undefined : streamId,
    mode: openModeFrom(fields.mode),
    context: fields.context,
    parameters: fields.parameters ?? {},
    resumeAfter: fields.resumeAfter,
    outputCredit: fields.outputCredit,
    protocolVersions: protocolVersions.length === 0 ? [streamProtocolVersion] : protocolVersions,
    ...(clientId === '' ? {} : { clientId, attempt }),
  };
}

function openModeFrom(mode: string): OpenMode {
  if (mode === '') return 'either';
  const known = openModes.find((name) => name === mode);
  if (known !== undefined) return known;
  throw invalidFrame(`open.mode is ${quote(mode)}; the modes are ${openModes.join(', ')}`);
}

/** The fields of an `input` as they are read. */
export class InputFields {
  sequence = 0;
  readonly tensors: Tensor[] = [];
  text: string | undefined = undefined;
  bytes: Uint8Array | undefined = undefined;
  endOfInput = false;
  eventTimeMs: number | undefined = undefined;
  deadlineMs: number | undefined = undefined;
}

export function inputFrameFrom(fields: InputFields): InputFrame {
  const { sequence, endOfInput, eventTimeMs, deadlineMs } = fields;
  checkSequence(sequence, 'input.sequence');
  return { kind: 'input', sequence, payload: payloadFrom(fields, 'input'), endOfInput, eventTimeMs, deadlineMs };
}

function checkSequence(sequence: number, field: string): void {
  if (sequence < 1) throw invalidFrame(`${field} is ${sequence}; sequences are 1, 2, 3 and so on`);
}

interface PayloadFields {
  readonly tensors: readonly Tensor[];
  readonly text: string | undefined;
  readonly bytes: Uint8Array | undefined;
}

export function payloadFrom({ tensors, text, bytes }: PayloadFields, frame: string): StreamPayload {
  const kinds = Number(tensors.length > 0) + Number(text !== undefined) + Number(bytes !== undefined);
  if (kinds > 1) throw invalidFrame(`${frame} has more than one of tensors, text and bytes; send one of them`);
  if (text !== undefined) return { kind: 'text', text };
  if (bytes !== undefined) return { kind: 'bytes', bytes };
  return tensors.length === 0 ? noPayload : { kind: 'tensors', tensors };
}

const noPayload: StreamPayload = { kind: 'none' };

/** The name and datatype of a tensor, checked. */
export function tensorHeadFrom(
  name: string,
  datatype: string,
  others: readonly { readonly name: string }[],
): { readonly name: string; readonly datatype: Datatype } {
  if (name === '') throw invalidFrame(`tensor #${others.length} has no name`);
  if (others.some((other) => other.name === name)) throw invalidFrame(`tensor ${quote(name)} comes twice`);
  if (datatype === '') throw invalidFrame(`tensor ${quote(name)} has no datatype`);
  return { name, datatype: datatypeFrom(datatype, name) };
}

/** Refuses raw data that does not fit the shape. */
export function checkRawTensor(tensor: Tensor): Tensor {
  const problem = tensorProblem(tensor.datatype, tensor.shape, tensor.data);
  if (problem !== undefined) throw invalidFrame(`tensor ${quote(tensor.name)}: ${problem}`);
  return tensor;
}

export function invalidFrame(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
