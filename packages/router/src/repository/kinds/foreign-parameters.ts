/** Refuses parameters that mean nothing for the kind of a model: each kind declares those that do. */
import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import {
  callerConcurrencyParameter,
  concurrencyParameter,
  generatorCacheBytesParameter,
  modelParameters,
  type ParameterName,
  resumableParameter,
  unreadParameter,
} from '../model-parameters.ts';
import type { ModelKind } from './model-kind.ts';

/** Refusal texts of parameters that only some kinds accept. */
const ownersTexts: Readonly<Partial<Record<ParameterName, string>>> = {
  [resumableParameter]: 'only decoupled pipelines need it; streams of other models can always be resumed, so remove it',
  [concurrencyParameter]: 'only pipelines and generators run several requests at once; remove it',
  [callerConcurrencyParameter]: 'only generators and decoupled pipelines divide their runs among callers; remove it',
  [unreadParameter]: 'only runs of generators and decoupled pipelines wait to be read; remove it',
  [generatorCacheBytesParameter]: 'only generators have such a cache; remove it',
};

export function refuseForeignParameters(
  { parameters, foreignParameterText }: Pick<ModelKind, 'parameters' | 'foreignParameterText'>,
  config: ModelConfig,
  findings: Findings,
): void {
  for (const key of Object.keys(config.parameters ?? {})) {
    if (!Object.hasOwn(modelParameters, key)) continue;
    const name = key as ParameterName;
    if (!parameters.includes(name))
      findings.problem(`parameters[${JSON.stringify(key)}]`, ownersTexts[name] ?? foreignParameterText);
  }
}
