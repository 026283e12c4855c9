/** Reads the fields of a message in protobuf's JSON: names in both spellings, null for absent, 64-bit integers as numbers or strings. */
import { InferenceError, type JsonReader, listed, quote } from '@millrace/protocol';
import { invalidFrame } from './frame-parts.ts';

/** Reads the value of one field, at which the reader is. */
export type FieldReaders = Readonly<Record<string, () => unknown>>;

/** An error whose message begins with the path of its field. */
class FieldError extends InferenceError {}

/**
 * Reads an object whose fields are the keys of `readers`, in lowerCamelCase. `path` names the object in messages, and is
 * empty for the outermost. Throws for a field that is not known: it would be ignored otherwise, and is mostly misspelled.
 */
export function readFields(reader: JsonReader, path: string, readers: FieldReaders): void {
  const given = new Set<string>();
  inField(path, () => reader.beginObject());
  for (let key = nextKey(reader, path); key !== undefined; key = nextKey(reader, path)) {
    const name = key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    const field = path === '' ? name : `${path}.${name}`;
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (read === undefined) throw unknownField(path, key, Object.keys(readers));
    if (given.has(name)) throw invalidFrame(`${field} comes twice, in both spellings`);
    given.add(name);
    inField(field, () => {
      if (reader.peekKind() === 'null') reader.readNull();
      else read();
    });
  }
}

function nextKey(reader: JsonReader, path: string): string | undefined {
  return inField(path, () => reader.nextKey());
}

function unknownField(path: string, key: string, known: readonly string[]): InferenceError {
  const where = path === '' ? 'the message' : path;
  return new FieldError('invalid-request', `${where} has no field ${quote(key)}; its fields are ${listed(known, 16)}`);
}

/** Puts the path of the innermost field before the message of an error. */
function inField<Result>(path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InferenceError) || error instanceof FieldError || path === '') throw error;
    throw new FieldError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

const digits = /^-?\d{1,20}$/;

/** An integer from `min` to `max`, as a number or a string of digits. */
export function readIntegerField(reader: JsonReader, min: number, max: number): number {
  const kind = reader.peekKind();
  if (kind !== 'number' && kind !== 'string') throw invalidFrame(`it is of kind ${kind}; it must be an integer`);
  let value: number | bigint;
  if (kind === 'number') value = reader.readNumber();
  else {
    const text = reader.readString();
    if (!digits.test(text)) throw invalidFrame(`${quote(text)} is not an integer`);
    value = Number(text);
  }
  if (typeof value === 'bigint' || !Number.isInteger(value) || value < min || value > max) {
    throw invalidFrame(`${value} is not an integer from ${min} to ${max}`);
  }
  return value;
}

/** A list whose elements `read` reads. */
export function readListField(reader: JsonReader, path: string, read: (index: number) => void): void {
  reader.beginArray();
  for (let index = 0; reader.nextElement(); index += 1) inField(`${path}[${index}]`, () => read(index));
}
