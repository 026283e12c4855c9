/** Reads a version of an ensemble: its tensors and the plan of its steps. */
import { join } from 'node:path';
import { type EnsemblePlan, type EnsembleStep, planEnsemble, resolveModelPolicy, stepField } from '@millrace/core';
import type { ModelVersionDefinition } from '../../../model/model-definition.ts';
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfig } from '../../config-text/model-config-schema.ts';
import { jsonFromModelConfig } from '../../config-text/read-model-config.ts';
import { declaredSpecs } from '../../declared-tensor.ts';
import { readAllLabels } from '../../label-file.ts';
import { configFilename } from '../../repository-layout.ts';
import type { ModelParts, VersionReading } from '../model-kind.ts';

export const ensemblePlatformName = 'ensemble';

export async function readEnsembleVersion(parts: ModelParts, version: string): Promise<VersionReading> {
  const { location, config, settings } = parts;
  const findings = parts.findings.fork();
  const rowsMax = config.max_batch_size ?? 0;
  if (rowsMax < 0) {
    findings.problem('max_batch_size', `${rowsMax} is out of range; it must be 0 (no batching) or more`);
  }
  const isBatched = rowsMax > 0;
  const inputs = declaredSpecs(config.input ?? [], 'input', isBatched, findings, true);
  const outputs = declaredSpecs(config.output ?? [], 'output', isBatched, findings, true);
  const steps = readSteps(config, findings);
  const labels = await readAllLabels(location.path, config, findings);
  const plan = findings.hasProblems ? undefined : takePlan(inputs, outputs, steps, findings);
  const { problems, warnings } = findings;
  if (plan === undefined) return { definition: undefined, problems, warnings };
  const inflight = config.ensemble_scheduling?.max_inflight_requests ?? 0;
  const completed: ModelConfig = {
    ...config,
    name: location.name,
    platform: ensemblePlatformName,
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    max_batch_size: rowsMax,
  };
  const definition: ModelVersionDefinition = {
    version,
    path: join(location.path, configFilename),
    externalPaths: [],
    view: {
      name: location.name,
      version,
      platform: ensemblePlatformName,
      inputs,
      outputs,
      isBatched,
      rowsMax: Math.max(1, rowsMax),
      labels,
      config: jsonFromModelConfig(completed),
    },
    policy: resolveModelPolicy({
      rowsMax: Math.max(1, rowsMax),
      queueRequestsMax: settings.queueRequestsMax,
      queueBytesMax: settings.queueBytesMax,
      // Its steps have limits of their own.
      runMsMax: Number.POSITIVE_INFINITY,
    }),
    runner: 'ensemble',
    ensemble: {
      plan,
      inflightMax: inflight === 0 ? Number.POSITIVE_INFINITY : inflight,
      labels,
      ownLabels: new Set(labels.keys()),
    },
  };
  return { definition, problems, warnings };
}

function readSteps(config: ModelConfig, findings: Findings): readonly EnsembleStep[] {
  return (config.ensemble_scheduling?.step ?? []).map((step, index) => {
    const field = stepField(index);
    const { model_name: model = '', model_version: version = -1, model_namespace: namespace = '' } = step;
    if (model === '') findings.problem(`${field}.model_name`, 'is missing; write the name of a model');
    if (version < -1 || version === 0) {
      findings.problem(`${field}.model_version`, `${version} is not a version; write -1 for the one the model prefers`);
    }
    if (namespace !== '') findings.problem(`${field}.model_namespace`, 'repositories share one namespace; remove it');
    return {
      model,
      version: version < 0 ? '' : String(version),
      inputs: readLinks(step.input_map, `${field}.input_map`, findings),
      outputs: readLinks(step.output_map, `${field}.output_map`, findings),
    };
  });
}

function readLinks(map: Readonly<Record<string, string>> | undefined, field: string, findings: Findings) {
  const links = Object.entries(map ?? {}).map(([name, tensor]) => ({ name, tensor }));
  if (links.length === 0) findings.problem(field, "is missing; write key: the model's name, value: the ensemble's");
  for (const { name, tensor } of links) {
    if (name === '') findings.problem(field, 'has an entry without a key; write the name that the model has for it');
    if (tensor === '') {
      findings.problem(
        `${field}[${JSON.stringify(name)}]`,
        'has no value; write the name that the ensemble has for it',
      );
    }
  }
  return links;
}

type Named = readonly { readonly name: string }[];

function takePlan(
  inputs: Named,
  outputs: Named,
  steps: readonly EnsembleStep[],
  findings: Findings,
): EnsemblePlan | undefined {
  const names = (named: Named): readonly string[] => named.map(({ name }) => name);
  const planning = planEnsemble({ inputs: names(inputs), outputs: names(outputs), steps });
  if ('problems' in planning) {
    for (const { field, message } of planning.problems) findings.problem(field, message);
    return undefined;
  }
  for (const { field, message } of planning.warnings) findings.warning(field, message);
  return planning.plan;
}
