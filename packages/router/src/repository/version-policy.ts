import { join } from 'node:path';
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
