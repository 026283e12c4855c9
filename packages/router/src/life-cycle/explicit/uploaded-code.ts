/**
 * Refuses code in loads. Model files describe computations; a pipeline's module is executed with the permissions of the
 * server's user. It comes from the operator's folders only, unless the operator allows otherwise.
 */

import { readdir } from 'node:fs/promises';
import { InferenceError } from '@millrace/protocol';
import { kindOf } from '../../repository/kinds/kind-table.ts';
import { readConfig } from '../../repository/read-config.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import type { ModelLocations } from '../reading/repository-reader.ts';
import { locationOfRequest, takeLocation } from './load-location.ts';
import type { LoadOverrides } from './load-overrides.ts';
import type { SavedLoad } from './saved-loads.ts';

/** What Node.js imports, or the system's loader loads, as it does libraries of operators; `libx.so.1` too. */
const codeFile = /\.(?:[cm]?[jt]sx?|node|wasm|so|dll|dylib)(?:\.\d+)*$/i;

const advice = 'put it into a model folder, or set models.allowUploadedCode (--allow-uploaded-code)';

export class UploadedCode {
  readonly #isAllowed: boolean;

  constructor(isAllowed: boolean) {
    this.#isAllowed = isAllowed;
  }

  /** Throws for a load that brings code, before anything of it is written. */
  async refuse(
    name: string,
    { config, files }: LoadOverrides,
    findLocations: () => Promise<ModelLocations>,
  ): Promise<void> {
    if (this.#isAllowed || config === undefined) return;
    const hasFiles = files !== undefined && files.size > 0;
    const locations: ModelLocations = hasFiles ? new Map() : await findLocations();
    const own = takeLocation(locations, name);
    const isServable = hasFiles || own !== undefined;
    const problem =
      fileProblem(files?.keys() ?? []) ??
      (isServable ? await configProblem(locationOfRequest(name, config, locations), own) : undefined);
    if (problem !== undefined) throw new InferenceError('forbidden', `failed to load '${name}', ${problem}`);
  }

  /** Checks a load as it would be read, also one that was saved when code was still allowed. */
  async problemOf(
    location: ModelLocation,
    { config, folder }: SavedLoad,
    locations: ModelLocations,
  ): Promise<string | undefined> {
    if (this.#isAllowed) return undefined;
    if (folder !== undefined) {
      return fileProblem(await readdir(folder, { recursive: true })) ?? (await configProblem(location, undefined));
    }
    return config === undefined ? undefined : configProblem(location, takeLocation(locations, location.name));
  }
}

function fileProblem(paths: Iterable<string>): string | undefined {
  for (const path of paths) {
    if (codeFile.test(path)) return `file ${JSON.stringify(path)} is code, which a load may not bring; ${advice}`;
  }
  return undefined;
}

/** Whether it would execute something that the operator did not install. Without `own` all files came with the load. */
async function configProblem(location: ModelLocation, own: ModelLocation | undefined): Promise<string | undefined> {
  const { config } = await readConfig(location);
  const kind = await kindOf(config, location);
  if (!kind.runsCode) return undefined;
  if (own === undefined) return `its files would be run as a ${kind.name}, and a load may not bring code; ${advice}`;
  const { config: ownConfig } = await readConfig(own);
  if ((await kindOf(ownConfig, own)) !== kind) {
    return `its configuration turns a model of the repository into a ${kind.name}, and a load may not bring code; ${advice}`;
  }
  if (config.default_model_filename !== ownConfig.default_model_filename) {
    return `its configuration runs another file than the repository's (default_model_filename); ${advice}`;
  }
  return undefined;
}
