import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';

/** For kinds that give one answer to a request. */
export function refuseSeveralAnswers(config: ModelConfig, findings: Findings): void {
  if (config.model_transaction_policy?.decoupled !== true) return;
  findings.problem(
    'model_transaction_policy.decoupled',
    'only pipelines and generators give several answers to a request; other models give one, so set it to false',
  );
}
