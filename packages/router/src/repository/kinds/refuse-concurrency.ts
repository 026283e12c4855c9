import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import { concurrencyParameter } from '../model-parameters.ts';

/** For kinds whose instances run one batch after the other, or that have none. */
export function refuseConcurrency(config: ModelConfig, findings: Findings): void {
  if (config.parameters?.[concurrencyParameter] === undefined) return;
  findings.problem(
    `parameters[${JSON.stringify(concurrencyParameter)}]`,
    'only pipelines run several requests at once',
  );
}
