/** Reads the bodies of Triton's model repository extension. */
import { InferenceError, type JsonObject, type JsonValue, quote } from '@millrace/protocol';
import type { LoadOverrides } from '../../management/management.ts';
import { loadOverridesFrom } from '../repository/load-overrides.ts';
import type { FilesOfBody } from '../repository/read-load-body.ts';

const filePrefix = 'file:';
export const fileParameters: FilesOfBody = { member: 'parameters', isFile: (key) => key.startsWith(filePrefix) };

export function parametersOf({ parameters }: JsonObject): JsonObject {
  if (parameters === undefined) return {};
  if (isObject(parameters)) return parameters;
  throw invalid("'parameters' must be an object");
}

export function booleanMember(object: JsonObject, name: string): boolean {
  const value = object[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw invalid(`'${name}' must be true or false`);
}

export function takeOverrides(
  parameters: JsonObject,
  contents: ReadonlyMap<string, Uint8Array>,
): LoadOverrides | undefined {
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, value] of Object.entries(parameters)) {
    const isFile = name.startsWith(filePrefix);
    if (!isFile && name !== 'config') {
      throw invalid(`unrecognized load parameter ${quote(name)}. There are config and file:PATH`);
    }
    if (typeof value !== 'string') throw invalid(`load parameter ${quote(name)} must be a string`);
    if (isFile) files.set(name.slice(filePrefix.length), contents.get(name) as Uint8Array);
    else config = value;
  }
  return loadOverridesFrom(config, files);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
