/** Applies an operator's change to a model's traffic: returns the new policy, or throws why the change is refused. */
import { InferenceError } from '@millrace/protocol';
import { labelProblem } from './model-address.ts';
import type { TrafficChange, TrafficPolicy } from './traffic-policy.ts';

export const labelsMax = 64;
export const splitVersionsMax = 16;
export const shadowsMax = 4;
export const weightMax = 1_000_000;

/** Why requests cannot be sent to a version; undefined: it is served or can be. */
export type VersionProblem = (version: string) => string | undefined;

/** Checks only what the change sets, not the existing policy: its versions may have been removed since. Throws `invalid-request`. */
export function trafficAfter(
  model: string,
  policy: TrafficPolicy,
  change: TrafficChange,
  versionProblem: VersionProblem,
): Omit<TrafficPolicy, 'revision'> {
  const check = (version: string, where: string): void => {
    const problem = versionProblem(version);
    if (problem !== undefined) throw invalid(`${where} of '${model}' names version ${version}: ${problem}`);
  };
  return {
    labels: labelsAfter(policy.labels, change.labels ?? new Map(), check),
    split: change.split === undefined ? policy.split : checkedSplit(change.split, check),
    shadows: change.shadows === undefined ? policy.shadows : checkedShadows(change.shadows, check),
  };
}

type Check = (version: string, where: string) => void;

function labelsAfter(
  labels: ReadonlyMap<string, string>,
  changes: ReadonlyMap<string, string | undefined>,
  check: Check,
): ReadonlyMap<string, string> {
  const after = new Map(labels);
  for (const [label, version] of changes) {
    if (version === undefined) {
      after.delete(label);
      continue;
    }
    const problem = labelProblem(label);
    if (problem !== undefined) throw invalid(`the label '${label}' ${problem}`);
    check(version, `label '${label}'`);
    after.set(label, version);
  }
  if (after.size > labelsMax) throw invalid(`a model has at most ${labelsMax} labels; remove some first`);
  return after;
}

function checkedSplit(split: TrafficPolicy['split'], check: Check): TrafficPolicy['split'] {
  if (split.length > splitVersionsMax)
    throw invalid(`a split has at most ${splitVersionsMax} versions; this one has ${split.length}`);
  checkOnce(split, 'the split');
  return split.map(({ version, weight }) => {
    if (!(weight > 0 && weight <= weightMax)) {
      throw invalid(`the weight of version ${version} is ${weight}; it must be above 0 and at most ${weightMax}`);
    }
    check(version, 'the split');
    return { version, weight };
  });
}

function checkedShadows(shadows: TrafficPolicy['shadows'], check: Check): TrafficPolicy['shadows'] {
  if (shadows.length > shadowsMax)
    throw invalid(`a model has at most ${shadowsMax} shadows; this change has ${shadows.length}`);
  checkOnce(shadows, 'the shadows');
  return shadows.map(({ version, percent }) => {
    if (!(percent > 0 && percent <= 100)) {
      throw invalid(`the percent of version ${version} is ${percent}; it must be above 0 and at most 100`);
    }
    check(version, 'a shadow');
    return { version, percent };
  });
}

function checkOnce(parts: readonly { readonly version: string }[], where: string): void {
  const versions = parts.map(({ version }) => version);
  const twice = versions.find((version, index) => versions.indexOf(version) !== index);
  if (twice !== undefined) throw invalid(`version ${twice} is named twice in ${where}`);
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
