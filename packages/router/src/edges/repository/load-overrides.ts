/** Checks the configuration and files that a load brings instead of the repository's, for every protocol. */
import { InferenceError, quote } from '@millrace/protocol';
import type { LoadOverrides } from '../../management/management.ts';

/** A model with more files must be put into the repository. */
export const loadFilesMax = 1024;
const overridePathCharactersMax = 512;

/** Undefined when the load brings nothing. Throws `invalid-request` with the problem. */
export function loadOverridesFrom(
  config: string | undefined,
  files: ReadonlyMap<string, Uint8Array>,
): LoadOverrides | undefined {
  if (files.size > loadFilesMax) {
    throw invalid(
      `a load brings at most ${loadFilesMax} files, this one brings ${files.size}; put the model into the repository`,
    );
  }
  for (const path of files.keys()) {
    const problem = pathProblem(path);
    if (problem !== undefined) throw invalid(`file ${quote(path)} ${problem}`);
  }
  if (config === undefined && files.size > 0) {
    // Without the repository's configuration nothing describes these files.
    throw invalid('a load that brings files must bring the configuration too: add the parameter config');
  }
  if (config === undefined) return undefined;
  return files.size === 0 ? { config } : { config, files };
}

function pathProblem(path: string): string | undefined {
  if (path.length > overridePathCharactersMax) return `has more than ${overridePathCharactersMax} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\\]/u.test(path)) return 'has a control character or a backslash, which is not allowed';
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    return 'must be a path below the model’s folder, like 1/model.onnx';
  }
  return undefined;
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
