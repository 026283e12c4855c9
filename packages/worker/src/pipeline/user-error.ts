import { basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ErrorCode, errorCatalogue, InferenceError } from '@millrace/protocol';

/** Longer messages are truncated, because they would be sent to every caller. */
export const reasonCharactersMax = 2000;

/**
 * The error that callers get for one that user code threw or passed on: its message and its position in the pipeline's own
 * files, never a stack. A failed call keeps its code.
 */
export function failureFromUserError(error: unknown, modulePath: string): InferenceError {
  const code = codeOf(error);
  return code === undefined
    ? new InferenceError('inference-failed', reasonOf(error, modulePath))
    : new InferenceError(code, messageOf(error));
}

/** The message of a thrown value, with its position. */
export function reasonOf(error: unknown, modulePath: string): string {
  const position = positionOf(error, modulePath);
  return position === undefined ? messageOf(error) : `${messageOf(error)} (${position})`;
}

/** Anything can be thrown, also values that throw when they are read: this function never throws. */
export function messageOf(thrown: unknown): string {
  try {
    const message = thrown instanceof Error ? thrown.message : thrown;
    return shortened(String(message));
  } catch {
    return 'it threw a value that cannot be converted to text; throw an Error';
  }
}

function shortened(text: string): string {
  return text.length <= reasonCharactersMax ? text : `${text.slice(0, reasonCharactersMax)}…`;
}

/** The code of a failed call, or of `invalid`; undefined for any other error. */
function codeOf(thrown: unknown): ErrorCode | undefined {
  try {
    const code: unknown = thrown instanceof InferenceError ? thrown.code : undefined;
    // The scheduler would take these two as statements about the pipeline itself.
    if (code === 'unknown-model') return 'model-not-ready';
    if (code === 'cancelled') return 'inference-failed';
    return typeof code === 'string' && Object.hasOwn(errorCatalogue, code) ? (code as ErrorCode) : undefined;
  } catch {
    return undefined;
  }
}

/** `pipeline.ts:12`: the innermost frame in the folder of the pipeline. */
function positionOf(error: unknown, modulePath: string): string | undefined {
  const folder = pathToFileURL(dirname(modulePath)).href;
  for (const line of stackOf(error).split('\n')) {
    const start = line.indexOf(`${folder}/`);
    const position = start < 0 ? null : /^([^?#]+?)(?:\?[^:]*)?:(\d+)(?::\d+)?\)?$/.exec(line.slice(start));
    if (position !== null) return `${basename(decodeURIComponent(position[1] as string))}:${position[2]}`;
  }
  return undefined;
}

/** The stack in one line, for the log; the message where there is none. */
export function stackTextOf(error: unknown, message: string): string {
  const stack = stackOf(error).replaceAll(/\s*\n\s*/g, ' | ');
  return shortened(stack === '' ? message.replaceAll('\n', ' | ') : stack);
}

/** User code may have replaced the stack by anything. */
function stackOf(error: unknown): string {
  try {
    return error instanceof Error && typeof error.stack === 'string' ? error.stack : '';
  } catch {
    return '';
  }
}
