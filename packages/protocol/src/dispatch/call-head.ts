import { type Datatype, isDatatype } from '../datatypes.ts';
import { MalformedFrame } from './frame-layout.ts';

export interface CallTensorHeader {
  readonly name: string;
  readonly datatype: Datatype;
}

/** The JSON part of a call frame. */
export interface ModelCallHead {
  readonly model: string;
  readonly version: string;
  readonly outputs: readonly string[];
  readonly inputs: readonly CallTensorHeader[];
}

/** Parses the JSON of a call frame and checks every field. */
export function callHeadFrom(json: string): ModelCallHead {
  const head = jsonFrom(json);
  if (typeof head !== 'object' || head === null) throw wrong('its head', 'an object');
  const { model, version, outputs, inputs } = head as Record<string, unknown>;
  if (!Array.isArray(outputs)) throw wrong('outputs', 'a list');
  return {
    model: textFrom(model, 'model'),
    version: textFrom(version, 'version'),
    outputs: outputs.map((name) => textFrom(name, 'an output')),
    inputs: headerList(inputs),
  };
}

/** Parses the JSON of the answer to a call. */
export function headersFrom(json: string): readonly CallTensorHeader[] {
  return headerList(jsonFrom(json));
}

function headerList(value: unknown): readonly CallTensorHeader[] {
  if (!Array.isArray(value)) throw wrong('the tensors', 'a list');
  return value.map((entry) => {
    if (!Array.isArray(entry)) throw wrong('a tensor', 'a name and a datatype');
    const name = textFrom(entry[0], 'name');
    const datatype = textFrom(entry[1], 'datatype');
    if (!isDatatype(datatype)) throw new MalformedFrame(`unknown datatype ${JSON.stringify(datatype)}`);
    return { name, datatype };
  });
}

function jsonFrom(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new MalformedFrame('a call frame does not contain valid JSON');
  }
}

function textFrom(value: unknown, field: string): string {
  if (typeof value !== 'string') throw wrong(field, 'a string');
  return value;
}

function wrong(field: string, expected: string): MalformedFrame {
  return new MalformedFrame(`in a call frame, ${field} must be ${expected}`);
}
