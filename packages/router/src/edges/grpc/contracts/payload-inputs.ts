/** What the payload of a message is, by its content type: a text, a file, or tensors. */
import { isUtf8 } from 'node:buffer';
import {
  type Datatype,
  datatypes,
  InferenceError,
  quote,
  type StreamPayload,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import type { ModelView } from '../../../model/model-view.ts';
import { shapeForCount } from '../../fitting-shape.ts';
import { tensorsFromJson } from './json-inputs.ts';

const rawType = 'application/octet-stream';
const knownTypes = 'application/json, application/octet-stream, text/plain, image/* or audio/*';

/** Of `metadata["content-type"]`. */
const contentTypeCharactersMax = 256;

/** `view` is asked for only where the model decides what the payload means. Throws an `InferenceError`. */
export function typedPayloadFrom(written: string, bytes: Uint8Array, view: () => ModelView): StreamPayload {
  const { type, parameters } = contentTypeFrom(written);
  if (type === '' || type === rawType) return rawPayload(bytes, view(), parameters.get('datatype'));
  if (type === 'application/json') {
    checkCharset(written, parameters);
    return { kind: 'tensors', tensors: tensorsFromJson(bytes, view().name, ownInputs(view())) };
  }
  if (type === 'text/plain') {
    checkCharset(written, parameters);
    if (!isUtf8(bytes)) throw invalid('the payload is text/plain and not UTF-8; send UTF-8, or another content type');
    return { kind: 'text', text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() };
  }
  if (type.startsWith('image/') || type.startsWith('audio/')) {
    const { name, datatype } = soleInput(view(), type);
    if (datatype === 'BYTES') return { kind: 'bytes', bytes };
    throw invalid(
      `the payload is ${type}, and input ${name} of ${view().name} takes ${datatype}; call a pipeline that decodes the file, or send ${rawType}`,
    );
  }
  throw new InferenceError(
    'unsupported-media',
    `metadata["content-type"] is ${quote(written)}; it must be ${knownTypes}`,
  );
}

interface ContentType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

function contentTypeFrom(written: string): ContentType {
  if (written.length > contentTypeCharactersMax) {
    throw invalid(
      `metadata["content-type"] has ${written.length} characters, more than the ${contentTypeCharactersMax} allowed`,
    );
  }
  const [type = '', ...rest] = written.split(';');
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [key = '', value = ''] = part.split('=', 2);
    parameters.set(key.trim().toLowerCase(), value.trim().replaceAll('"', ''));
  }
  return { type: type.trim().toLowerCase(), parameters };
}

function checkCharset(written: string, parameters: ReadonlyMap<string, string>): void {
  const charset = parameters.get('charset')?.toLowerCase() ?? 'utf-8';
  if (charset === 'utf-8' || charset === 'us-ascii') return;
  throw new InferenceError('unsupported-media', `metadata["content-type"] is ${quote(written)}; send UTF-8`);
}

/** Those that a client sends: without the state of a stream, which the server keeps. */
function ownInputs({ inputs, streamStates = [] }: ModelView): readonly TensorSpec[] {
  return inputs.filter(({ name }) => !streamStates.some(({ input }) => input === name));
}

function soleInput(view: ModelView, type: string): TensorSpec {
  const own = ownInputs(view);
  const required = own.filter(({ isOptional }) => isOptional !== true);
  const [input] = required;
  if (input !== undefined && required.length === 1) return input;
  const inputs = own.map(({ name, datatype }) => `${name} (${datatype})`).join(', ');
  throw invalid(
    `the payload is ${type}, which needs a model with one input, and ${view.name} has ${inputs}; send application/json with the inputs by name`,
  );
}

/** Rows of the one input. Ids of tokens are mostly 32 bits where they are made, and 64 where graphs take them. */
function rawPayload(bytes: Uint8Array, view: ModelView, written: string | undefined): StreamPayload {
  const input = soleInput(view, rawType);
  const { name, datatype, shape } = input;
  if (datatype === 'BYTES') return { kind: 'bytes', bytes };
  const source = sourceDatatype(input, view, written);
  const elementBytes = datatypes[source].bytes as number;
  const count = bytes.length / elementBytes;
  const fitting = Number.isInteger(count) ? shapeForCount(shape, count) : undefined;
  if (fitting === undefined) {
    throw invalid(
      `input ${name} of ${view.name} has shape [${shape}], which ${bytes.length} bytes of ${source} do not fill; send whole rows`,
    );
  }
  const data = source === datatype ? bytes : widened(bytes, count);
  const tensor: Tensor = { name, datatype, shape: fitting, data };
  return { kind: 'tensors', tensors: [tensor] };
}

function sourceDatatype({ name, datatype }: TensorSpec, view: ModelView, written: string | undefined): Datatype {
  if (written === undefined) return datatype === 'INT64' ? 'UINT32' : datatype;
  const asked = written.toUpperCase();
  if (asked === datatype) return datatype;
  if (asked === 'UINT32' && datatype === 'INT64') return 'UINT32';
  throw new InferenceError(
    'unsupported-media',
    `the payload is ${quote(written)} by its content type, and input ${name} of ${view.name} takes ${datatype}${datatype === 'INT64' ? ' or UINT32' : ''}`,
  );
}

function widened(bytes: Uint8Array, count: number): Uint8Array {
  const from = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const data = new Uint8Array(8 * count);
  const to = new DataView(data.buffer);
  for (let index = 0; index < count; index += 1) to.setUint32(8 * index, from.getUint32(4 * index, true), true);
  return data;
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
