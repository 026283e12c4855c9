import { InferenceError, type JsonReader, quote } from '@millrace/protocol';
import type { ParameterValue } from '../../data-plane/infer.ts';

const integerMin = -(2n ** 63n);
const integerMax = 2n ** 64n - 1n;

/** Reads a `parameters` object: strings, numbers and booleans by name. `where` begins the message of a refusal. */
export function readParameters(reader: JsonReader, where: string): Map<string, ParameterValue> {
  const parameters = new Map<string, ParameterValue>();
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    parameters.set(key, readParameter(reader, key, where));
  }
  return parameters;
}

function readParameter(reader: JsonReader, key: string, where: string): ParameterValue {
  const kind = reader.peekKind();
  switch (kind) {
    case 'string':
      return reader.readString();
    case 'boolean':
      return reader.readBoolean();
    case 'number': {
      const value = reader.readNumber();
      if (typeof value === 'bigint' && (value < integerMin || value > integerMax)) {
        throw new InferenceError(
          'invalid-request',
          `${where}parameter ${quote(key)} is out of the range of 64-bit integers`,
        );
      }
      return value;
    }
    case 'array':
    case 'null':
    case 'object':
      throw new InferenceError(
        'invalid-request',
        `${where}parameter ${quote(key)} must be a string, a number or a boolean, not ${kind === 'null' ? kind : `an ${kind}`}`,
      );
  }
}

export function takeBoolean(
  parameters: ReadonlyMap<string, ParameterValue>,
  key: string,
  where: string,
): boolean | undefined {
  const value = parameters.get(key);
  if (value === undefined || typeof value === 'boolean') return value;
  throw new InferenceError('invalid-request', `${where}parameter ${quote(key)} must be true or false`);
}

/** A whole number from `min` on that a double holds exactly. */
export function takeNatural(
  parameters: ReadonlyMap<string, ParameterValue>,
  key: string,
  min: 0 | 1,
  where: string,
): number | undefined {
  const value = parameters.get(key);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
  throw new InferenceError('invalid-request', `${where}parameter ${quote(key)} must be an integer of ${min} or more`);
}

/** Refuses the parameters for shared memory, which this server does not support. */
export function refuseSharedMemory(parameters: ReadonlyMap<string, ParameterValue>, what: string): void {
  if (!parameters.has('shared_memory_region')) return;
  throw new InferenceError(
    'unsupported',
    `Client shared memory is disabled: this server does not support it; send ${what} in the message`,
  );
}
