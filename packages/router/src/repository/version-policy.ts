import { join } from 'node:path';
import type { UnservedVersions } from '../model/model-definition.ts';
import { compareVersions, isVersionName } from '../model/version-name.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { type ModelLocation, modelFilenameDefault } from './repository-layout.ts';

export interface ChosenVersions {
  /** Ascending. */
  readonly versions: readonly string[];
  /** Versions that the policy names and that do not exist. */
  readonly missing: readonly string[];
}

/** The existing versions that a configuration's `version_policy` selects. Without a policy: the latest one. */
export function chooseVersions(config: ModelConfig, present: readonly string[], findings: Findings): ChosenVersions {
  const ascending = [...present].sort(compareVersions);
  const policy = config.version_policy ?? {};
  if (policy.all !== undefined) return { versions: ascending, missing: [] };
  if (policy.specific !== undefined) {
    const wanted = [...new Set((policy.specific.versions ?? []).map(String))];
    if (wanted.length === 0) {
      findings.problem('version_policy.specific', 'names no version; write versions: [ 1 ]');
    }
    const impossible = wanted.filter((version) => !isVersionName(version));
    if (impossible.length > 0) {
      findings.problem('version_policy.specific.versions', `${impossible.join(', ')}: versions are numbered from 1`);
    }
    return {
      versions: ascending.filter((version) => wanted.includes(version)),
      missing: wanted.filter((version) => isVersionName(version) && !ascending.includes(version)).sort(compareVersions),
    };
  }
  const count = policy.latest?.num_versions ?? (policy.latest === undefined ? 1 : 0);
  if (count < 1) findings.problem('version_policy.latest.num_versions', 'must be at least 1');
  return { versions: count < 1 ? [] : ascending.slice(-count), missing: [] };
}

/** The existing versions that were not chosen; undefined: all were. */
export function unservedVersions(
  { version_policy: policy }: ModelConfig,
  present: readonly string[],
  { versions }: ChosenVersions,
): UnservedVersions | undefined {
  const left = present.filter((version) => !versions.includes(version));
  if (left.length === 0) return undefined;
  const served = policy?.specific === undefined ? `the latest ${versions.length}` : versions.join(', ');
  const reason =
    policy === undefined
      ? 'without a version_policy only the latest is served; write version_policy { all { } } in config.pbtxt to serve all'
      : `version_policy serves only ${served}; change it in config.pbtxt`;
  return { versions: left, reason };
}

/** Versions that the policy names and that have no folder are left out, as in Triton; at least one must exist. */
export function noteMissingVersions(
  location: ModelLocation,
  { versions, missing }: ChosenVersions,
  findings: Findings,
): void {
  const field = 'version_policy.specific.versions';
  if (versions.length > 0) {
    for (const version of missing) {
      findings.warning(field, `names version ${version}, but there is no folder ${join(location.path, version)}`);
    }
  } else if (missing.length > 0) {
    const present = [...location.versions].sort(compareVersions).join(', ');
    const there = present === '' ? 'there is no version folder' : `the version folders are ${present}`;
    findings.problem(field, `names ${missing.join(', ')}, but none of them exists; ${there}`);
  } else if (!findings.hasProblems) {
    const example = `${location.name}/1/${modelFilenameDefault}`;
    findings.problem('', `no version of ${location.name} can be served; put one at ${example}`);
  }
}
