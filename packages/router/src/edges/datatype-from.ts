import { type Datatype, datatypes, InferenceError, isDatatype, quote } from '@millrace/protocol';

const names = Object.keys(datatypes).join(', ');

/** The datatype that a request names for an input. */
export function datatypeFrom(text: string, input: string): Datatype {
  if (isDatatype(text)) return text;
  throw new InferenceError(
    'invalid-request',
    `invalid datatype ${quote(text)} for input ${quote(input)}; the datatypes are ${names}`,
  );
}
