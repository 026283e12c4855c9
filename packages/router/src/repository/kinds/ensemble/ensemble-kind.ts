/** An ensemble: a model that runs other models, and consists of its configuration alone. */
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfig } from '../../config-text/model-config-schema.ts';
import { parameterFamilies, parameterPrefix } from '../../model-parameters.ts';
import type { RecognisedKind } from '../model-kind.ts';
import { refuseSeveralAnswers } from '../refuse-several-answers.ts';
import { ensemblePlatformName, readEnsembleVersion } from './read-ensemble.ts';

const queueParameters: readonly string[] = ['millrace.queue_requests_max', 'millrace.queue_bytes_max'];
const foreignParameterText = 'does not apply to an ensemble; set it for the models of its steps';

export const ensembleKind: RecognisedKind = {
  name: 'ensemble',
  platform: ensemblePlatformName,
  backend: undefined,
  engine: undefined,
  lane: undefined,
  instances: 'none',
  // The folder would be empty, and version control does not keep empty folders.
  needsVersionFolder: false,
  runsCode: false,
  recognises: (config) => config.platform === ensemblePlatformName || config.ensemble_scheduling !== undefined,
  parameters: ['millrace.queue_requests_max', 'millrace.queue_bytes_max'],
  foreignParameterText,
  checkHead,
  stepNames,
  readVersion: readEnsembleVersion,
};

function stepNames({ ensemble_scheduling: scheduling }: ModelConfig): readonly string[] {
  const names = (scheduling?.step ?? []).map(({ model_name: name = '' }) => name);
  return [...new Set(names.filter((name) => name !== ''))];
}

/** Refuses settings that only models with instances have. */
function checkHead(config: ModelConfig, findings: Findings): void {
  refuseSeveralAnswers(config, findings);
  const { platform = '', backend = '' } = config;
  if (platform !== '' && platform !== ensemblePlatformName) {
    findings.problem('platform', `is ${JSON.stringify(platform)}, but ensemble_scheduling needs "ensemble"`);
  }
  if (backend !== '') findings.problem('backend', 'an ensemble has none; remove it and write platform: "ensemble"');
  if ((config.instance_group ?? []).length > 0) {
    findings.problem('instance_group', 'an ensemble has no instances of its own; set them for the models of its steps');
  }
  if (config.response_cache?.enable === true) {
    findings.problem('response_cache.enable', 'results change with the models of the steps; enable it for those');
  }
  if ((config.model_warmup ?? []).length > 0) {
    findings.problem('model_warmup', 'an ensemble has no instances to warm up; write it for the models of its steps');
  }
  for (const field of ['batch_input', 'batch_output'] as const) {
    if ((config[field] ?? []).length > 0) findings.problem(field, 'belongs to the models of the steps; remove it');
  }
  const isGated = (config.ensemble_scheduling?.max_inflight_requests ?? 0) > 0;
  for (const key of Object.keys(config.parameters ?? {})) {
    if (!key.startsWith(parameterPrefix)) continue;
    const field = `parameters[${JSON.stringify(key)}]`;
    // About a tensor or an instance group: those are of other models.
    if (parameterFamilies.some(({ prefix }) => key.startsWith(prefix))) findings.problem(field, foreignParameterText);
    else if (!isGated && queueParameters.includes(key)) {
      findings.warning(field, 'has no effect without max_inflight_requests: the steps have queues of their own');
    }
  }
}
