import { basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InferenceError } from '@millrace/protocol';

/**
 * What callers are told of an error that user code threw or let through: its message and where in the pipeline's own files
 * it arose, never a stack. A failed call keeps its code.
 */
export function failureFromUserError(error: unknown, modulePath: string): InferenceError {
  if (error instanceof InferenceError) return failureFromCall(error);
  const message = error instanceof Error ? error.message : String(error);
  const where = placeOf(error, modulePath);
  return new InferenceError('inference-failed', where === undefined ? message : `${message} (${where})`);
}

function failureFromCall(error: InferenceError): InferenceError {
  const { code, message } = error;
  // To the scheduler these two would speak of the pipeline itself.
  if (code === 'unknown-model') return new InferenceError('model-not-ready', message);
  if (code === 'cancelled') return new InferenceError('inference-failed', message);
  return error;
}

/** `pipeline.ts:12`: the innermost frame in the folder of the pipeline. */
export function placeOf(error: unknown, modulePath: string): string | undefined {
  if (!(error instanceof Error) || error.stack === undefined) return undefined;
  const folder = pathToFileURL(dirname(modulePath)).href;
  for (const line of error.stack.split('\n')) {
    const start = line.indexOf(`${folder}/`);
    const place = start < 0 ? null : /^([^?#]+?)(?:\?[^:]*)?:(\d+)(?::\d+)?\)?$/.exec(line.slice(start));
    if (place !== null) return `${basename(decodeURIComponent(place[1] as string))}:${place[2]}`;
  }
  return undefined;
}
