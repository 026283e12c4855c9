import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageFromFileError } from '@millrace/protocol';
import { Findings } from './config-text/findings.ts';
import {
  configBytesMax,
  type ReadModelConfig,
  readModelConfig,
  readModelConfigJson,
} from './config-text/read-model-config.ts';
import { configFilename, type ModelLocation } from './repository-layout.ts';

/** The configuration of a model: what came with its load, else its file, else nothing. */
export async function readConfig(location: ModelLocation): Promise<ReadModelConfig> {
  const path = join(location.path, configFilename);
  if (location.configText !== undefined) return readModelConfigJson(location.configText, `config of ${location.name}`);
  if (!location.hasConfig) return { config: {}, findings: new Findings(location.path) };
  try {
    const { size } = await stat(path);
    // A file that is far too large is refused by its size, before it is in memory.
    if (size > configBytesMax) return readModelConfig(new Uint8Array(configBytesMax + 1), path);
    return readModelConfig(await readFile(path), path);
  } catch (error) {
    const findings = new Findings(path);
    findings.problem('', messageFromFileError(error));
    return { config: {}, findings };
  }
}
