import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

export interface InstanceGroup {
  readonly name: string;
  readonly device: 'cpu' | 'gpu';
  /** On a GPU: for each of `gpus`. */
  readonly count: number;
  /** Empty on the CPU; empty on a GPU means every one there is. */
  readonly gpus: readonly number[];
}

/** An instance is a process with the whole model in it: one, until the operator asks for more. */
export const instanceCountDefault = 1;
export const instanceCountMax = 256;

/** The instances a configuration asks for. */
export function readInstanceGroups(
  config: ModelConfig,
  modelName: string,
  hasGpu: boolean,
  findings: Findings,
): readonly InstanceGroup[] {
  const groups = config.instance_group ?? [];
  if (groups.length === 0) {
    return [{ name: modelName, device: hasGpu ? 'gpu' : 'cpu', count: instanceCountDefault, gpus: [] }];
  }
  return groups.map((group, index) => {
    const path = `instance_group[${index}]`;
    const kind = group.kind ?? 'KIND_AUTO';
    const count = group.count ?? 0;
    if (count < 0 || count > instanceCountMax) {
      findings.problem(`${path}.count`, `${count} is out of range; it must be from 1 to ${instanceCountMax}`);
    }
    const gpus = group.gpus ?? [];
    if (kind === 'KIND_GPU' && !hasGpu) {
      findings.problem(`${path}.kind`, 'needs a GPU build of the engine, and this server has none; use KIND_CPU');
    }
    if (gpus.length > 0 && kind !== 'KIND_GPU' && kind !== 'KIND_AUTO') {
      findings.problem(`${path}.gpus`, `cannot be given with ${kind}; remove it or use KIND_GPU`);
    }
    if (gpus.some((gpu) => gpu < 0)) findings.problem(`${path}.gpus`, 'a GPU is numbered from 0');
    if (kind === 'KIND_MODEL') {
      findings.warning(`${path}.kind`, 'KIND_MODEL is taken as KIND_CPU: an ONNX model does not choose its device');
    }
    checkUnserved(group, path, findings);
    const device = kind === 'KIND_GPU' || (kind === 'KIND_AUTO' && hasGpu) ? 'gpu' : 'cpu';
    return {
      name: group.name !== undefined && group.name !== '' ? group.name : `${modelName}_${index}`,
      device,
      count: count === 0 ? instanceCountDefault : count,
      gpus: device === 'gpu' ? gpus : [],
    };
  });
}

type WrittenGroup = NonNullable<ModelConfig['instance_group']>[number];

function checkUnserved(group: WrittenGroup, path: string, findings: Findings): void {
  if (group.passive === true) {
    findings.problem(`${path}.passive`, 'passive instances are not supported: they would never run; remove the group');
  }
  if ((group.profile ?? []).length > 0) findings.problem(`${path}.profile`, 'exists in TensorRT only; remove it');
  if ((group.secondary_devices ?? []).length > 0) {
    findings.problem(`${path}.secondary_devices`, 'exists in TensorRT only; remove it');
  }
  if (group.rate_limiter !== undefined) {
    findings.warning(`${path}.rate_limiter`, 'has no effect: instances are not limited by named resources');
  }
  if (group.host_policy !== undefined && group.host_policy !== '') {
    findings.warning(`${path}.host_policy`, 'has no effect: instances run wherever the system puts them');
  }
}
