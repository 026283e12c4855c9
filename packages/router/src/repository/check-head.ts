/** Checks the fields of a configuration that describe the model as a whole: its name, its kind and its file. */
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { modelKinds } from './kinds/kind-table.ts';
import { staysInside } from './label-file.ts';
import type { ModelLocation } from './repository-layout.ts';

const platforms = modelKinds.map(({ platform }) => platform);
const backends = modelKinds.flatMap(({ backend }) => backend ?? []);

function listOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

export function checkHead(config: ModelConfig, location: ModelLocation, findings: Findings): void {
  const { name = '', platform = '', backend = '' } = config;
  if (name !== '' && name !== location.name) {
    findings.problem(
      'name',
      `is ${JSON.stringify(name)}, but the folder is ${JSON.stringify(location.name)}; make them equal`,
    );
  }
  if (platform !== '' && !platforms.includes(platform)) {
    findings.problem('platform', `${JSON.stringify(platform)} is not supported yet; only ${listOf(platforms)} are`);
  }
  if (backend !== '' && !backends.includes(backend)) {
    findings.problem('backend', `${JSON.stringify(backend)} is not supported yet; only ${listOf(backends)} are`);
  }
  if (config.default_model_filename !== undefined && !staysInside(config.default_model_filename)) {
    findings.problem('default_model_filename', 'must be the name of a file inside the version folder');
  }
  if (location.name === 'stats') {
    findings.warning('name', 'the path /v2/models/stats means the statistics of all models; rename this one');
  }
}
