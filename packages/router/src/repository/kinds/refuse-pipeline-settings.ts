import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import { concurrencyParameter, generatorCacheBytesParameter, resumableParameter } from '../model-parameters.ts';

/** Refuses settings of pipelines and generators for kinds whose instances run one batch after the other, or that have no instances. */
export function refusePipelineSettings(config: ModelConfig, findings: Findings): void {
  if (config.model_transaction_policy?.decoupled === true) {
    findings.problem(
      'model_transaction_policy.decoupled',
      'only pipelines and generators give several answers to a request; other models give one, so set it to false',
    );
  }
  if (config.parameters?.[resumableParameter] !== undefined) {
    findings.problem(
      `parameters[${JSON.stringify(resumableParameter)}]`,
      'only decoupled pipelines need it; streams of other models can always be resumed, so remove it',
    );
  }
  refuseGeneratorSettings(config, findings);
  if (config.parameters?.[concurrencyParameter] === undefined) return;
  findings.problem(
    `parameters[${JSON.stringify(concurrencyParameter)}]`,
    'only pipelines and generators run several requests at once; remove it',
  );
}

export function refuseGeneratorSettings(config: ModelConfig, findings: Findings): void {
  if (config.parameters?.[generatorCacheBytesParameter] === undefined) return;
  findings.problem(
    `parameters[${JSON.stringify(generatorCacheBytesParameter)}]`,
    'only generators have such a cache; remove it',
  );
}
