import type { GpuSupport } from '@millrace/protocol';
import type { InstanceGroup } from '../model/instance-group.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { type GroupChoice, readGroupChoices } from './group-parameters.ts';

/** An instance is a process that holds the whole model: one, unless the operator asks for more. */
const instanceCountDefault = 1;
/** Of all groups of a model together. */
const instanceCountMax = 256;

/** Reads the instances a configuration asks for. A model that names no device runs on the GPUs if there are any. */
export function readInstanceGroups(
  config: ModelConfig,
  modelName: string,
  support: GpuSupport,
  findings: Findings,
): readonly InstanceGroup[] {
  const groups = config.instance_group ?? [];
  const usable = support.hasCuda ? support.devices : 0;
  const allGpus = Array.from({ length: usable }, (_, gpu) => gpu);
  if (groups.length === 0) {
    const choices = readGroupChoices(config, [modelName], findings);
    const device = usable > 0 ? 'gpu' : 'cpu';
    return [{ name: modelName, device, count: instanceCountDefault, gpus: allGpus, ...choiceOf(choices, modelName) }];
  }
  const nameOf = (name: string | undefined, index: number): string =>
    name !== undefined && name !== '' ? name : `${modelName}_${index}`;
  const choices = readGroupChoices(
    config,
    groups.map(({ name }, index) => nameOf(name, index)),
    findings,
  );
  const names = new Set<string>();
  let total = 0;
  const read = groups.map((group, index) => {
    const path = `instance_group[${index}]`;
    const kind = group.kind ?? 'KIND_AUTO';
    const written = group.count ?? 0;
    const isInRange = written >= 0 && written <= instanceCountMax;
    if (!isInRange) {
      findings.problem(`${path}.count`, `${written} is out of range; it must be from 1 to ${instanceCountMax}`);
    }
    // A refused count is replaced by the default, so that nothing is allocated for two billion instances.
    const count = isInRange && written > 0 ? written : instanceCountDefault;
    checkDevice(group, kind, support, path, findings);
    if (kind === 'KIND_MODEL') {
      findings.warning(`${path}.kind`, 'KIND_MODEL is taken as KIND_CPU: an ONNX model does not choose its device');
    }
    checkUnserved(group, path, findings);
    const name = nameOf(group.name, index);
    if (names.has(name))
      findings.problem(
        `${path}.name`,
        `${JSON.stringify(name)} is also the name of another group; give each group its own name`,
      );
    names.add(name);
    const gpus = group.gpus ?? [];
    const device = kind === 'KIND_GPU' || (kind === 'KIND_AUTO' && usable > 0) ? 'gpu' : 'cpu';
    const devices = device === 'cpu' ? [] : gpus.length > 0 ? gpus : allGpus;
    total += count * Math.max(1, devices.length);
    return { name, device, count, gpus: devices, ...choiceOf(choices, name) } satisfies InstanceGroup;
  });
  if (total > instanceCountMax) {
    const found = `its groups ask for ${total} instances together`;
    findings.problem(
      'instance_group',
      `${found}, more than the ${instanceCountMax} a model may have; lower their counts`,
    );
  }
  return total > instanceCountMax ? [] : read;
}

/** The instances of all groups together. */
export function instanceCountOf(groups: readonly InstanceGroup[]): number {
  return groups.reduce((sum, { count, gpus }) => sum + count * Math.max(1, gpus.length), 0);
}

function choiceOf(choices: ReadonlyMap<string, GroupChoice>, group: string): GroupChoice {
  return choices.get(group) ?? { priorityMax: Number.POSITIVE_INFINITY, threads: 0 };
}

type WrittenGroup = NonNullable<ModelConfig['instance_group']>[number];

function checkDevice(group: WrittenGroup, kind: string, support: GpuSupport, path: string, findings: Findings): void {
  const gpus = group.gpus ?? [];
  if (kind === 'KIND_GPU' && !support.hasCuda) {
    const found =
      "needs the engine's CUDA provider, but libonnxruntime_providers_cuda.so is not beside onnxruntime-node";
    findings.problem(`${path}.kind`, `${found}; install it or use KIND_CPU`);
  } else if (kind === 'KIND_GPU' && support.devices === 0) {
    const found = 'needs a GPU, but this machine has none, or CUDA_VISIBLE_DEVICES or worker.gpusMax hides it';
    findings.problem(`${path}.kind`, `${found}; use KIND_CPU`);
  }
  if (gpus.length > 0 && kind !== 'KIND_GPU' && kind !== 'KIND_AUTO') {
    findings.problem(`${path}.gpus`, `cannot be given with ${kind}; remove it or use KIND_GPU`);
  }
  if (gpus.some((gpu) => gpu < 0)) findings.problem(`${path}.gpus`, 'a GPU is numbered from 0');
  if (new Set(gpus).size < gpus.length) findings.problem(`${path}.gpus`, 'names a GPU twice; raise count instead');
  const missing = gpus.find((gpu) => gpu >= support.devices);
  if (missing !== undefined && support.hasCuda && support.devices > 0) {
    const present = support.devices === 1 ? 'the only one here is 0' : `those here are 0 to ${support.devices - 1}`;
    findings.problem(`${path}.gpus`, `names GPU ${missing}, but ${present}`);
  }
}

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
    findings.warning(`${path}.host_policy`, 'has no effect: the operating system schedules the instances');
  }
}
