import { InferenceError, quote } from '@millrace/protocol';
import { modelNameProblem } from '../../model/model-name.ts';
import type { LoadOverrides } from './load-overrides.ts';

/** A configuration that comes with a load is kept in the metadata store, whose values are small. */
const configOverrideBytesMax = 128 * 1024;

/** Throws when a load is invalid independently of the repository. */
export function checkLoad(name: string, { config, files }: LoadOverrides): void {
  const problem = modelNameProblem(name);
  if (problem !== undefined || name === '..') {
    throw new InferenceError(
      'invalid-request',
      `failed to load ${quote(name)}, ${problem ?? 'it is not a model name'}`,
    );
  }
  if (files !== undefined && files.size > 0 && config === undefined) {
    const advice = 'a load with files needs its configuration too, in the parameter "config"';
    throw new InferenceError('invalid-request', `failed to load ${quote(name)}, ${advice}`);
  }
  if (config !== undefined && Buffer.byteLength(config) > configOverrideBytesMax) {
    const limit = `its configuration has more than ${configOverrideBytesMax} bytes; put it into the repository`;
    throw new InferenceError('request-too-large', `failed to load ${quote(name)}, ${limit}`);
  }
}
