import { compareVersions, isVersionName } from '../model/version-name.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

export interface ChosenVersions {
  /** Ascending. */
  readonly versions: readonly string[];
  /** Asked for by number and not there. */
  readonly missing: readonly string[];
}

/** The versions a configuration's `version_policy` wants of those that are there. Without a policy: the latest one. */
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
      findings.problem('version_policy.specific.versions', `${impossible.join(', ')}: versions count from 1`);
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
