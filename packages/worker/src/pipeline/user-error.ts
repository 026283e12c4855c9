import { basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ErrorCode, errorCatalogue, InferenceError } from '@millrace/protocol';

/** What is longer is cut off: nobody reads it, and every caller would be sent it. */
export const reasonCharactersMax = 2000;

/**
 * What callers are told of an error that user code threw or let through: its message and where in the pipeline's own files
 * it arose, never a stack. A failed call keeps its code.
 */
export function failureFromUserError(error: unknown, modulePath: string): InferenceError {
  const code = codeOf(error);
  return code === undefined
    ? new InferenceError('inference-failed', reasonOf(error, modulePath))
    : new InferenceError(code, messageOf(error));
}

/** What was thrown, and where. */
export function reasonOf(error: unknown, modulePath: string): string {
  const place = placeOf(error, modulePath);
  return place === undefined ? messageOf(error) : `${messageOf(error)} (${place})`;
}

/** Anything can be thrown, also what throws when it is looked at: this never does. */
export function messageOf(thrown: unknown): string {
  try {
    const words = thrown instanceof Error ? thrown.message : thrown;
    return shortened(String(words));
  } catch {
    return 'it threw something that cannot be shown; throw an Error';
  }
}

function shortened(words: string): string {
  return words.length <= reasonCharactersMax ? words : `${words.slice(0, reasonCharactersMax)}…`;
}

/** The code of a failed call, or of a request that the pipeline called invalid; nothing for any other error. */
function codeOf(thrown: unknown): ErrorCode | undefined {
  try {
    const code: unknown = thrown instanceof InferenceError ? thrown.code : undefined;
    // To the scheduler these two would speak of the pipeline itself.
    if (code === 'unknown-model') return 'model-not-ready';
    if (code === 'cancelled') return 'inference-failed';
    return typeof code === 'string' && Object.hasOwn(errorCatalogue, code) ? (code as ErrorCode) : undefined;
  } catch {
    return undefined;
  }
}

/** `pipeline.ts:12`: the innermost frame in the folder of the pipeline. */
function placeOf(error: unknown, modulePath: string): string | undefined {
  const folder = pathToFileURL(dirname(modulePath)).href;
  for (const line of stackOf(error).split('\n')) {
    const start = line.indexOf(`${folder}/`);
    const place = start < 0 ? null : /^([^?#]+?)(?:\?[^:]*)?:(\d+)(?::\d+)?\)?$/.exec(line.slice(start));
    if (place !== null) return `${basename(decodeURIComponent(place[1] as string))}:${place[2]}`;
  }
  return undefined;
}

/** User code may have put anything in its place. */
function stackOf(error: unknown): string {
  try {
    return error instanceof Error && typeof error.stack === 'string' ? error.stack : '';
  } catch {
    return '';
  }
}
