/** Plans what to load from what was read: which versions share processes, and which changes need a new load. */
import { createHash } from 'node:crypto';
import type { ContextName } from '@millrace/core';
import { modelKeyFrom } from '../../data-plane/served-model.ts';
import type { LaneName, ModelDefinition, ModelVersionDefinition } from '../../model/model-definition.ts';
import type { ReadonlyJsonObject } from '../../model/model-view.ts';
import type { ReadDefinition } from '../reading/repository-reader.ts';

export interface PlannedVersion {
  readonly definition: ModelDefinition;
  readonly version: ModelVersionDefinition;
  /** Whether its files are still those that were read. */
  readonly isUnchanged: () => Promise<boolean>;
}

/** A context as it should be: a version of a model, or all that share a named worker group. */
export interface ContextPlan {
  readonly name: ContextName;
  readonly lane: LaneName;
  readonly workers: number;
  readonly members: readonly PlannedVersion[];
  /** While it stays the same, the loaded revision is kept: only the number of workers may have changed. */
  readonly identity: string;
  /** The size of the files. */
  readonly fileBytes: number;
  /** The size of the files and of an empty worker, until memory is measured. */
  readonly bytesExpected: number;
}

/** What a worker process with its engine and no model adds, by its proportional set size. */
const workerBytesMin = 24 * 1024 * 1024;

interface Gathering {
  readonly members: PlannedVersion[];
  readonly identities: string[];
  workers: number;
  bytes: number;
}

export function plansFrom(read: Iterable<ReadDefinition>): ReadonlyMap<ContextName, ContextPlan> {
  const gatherings = new Map<ContextName, Gathering>();
  for (const one of read) {
    const { definition, fingerprint } = one;
    for (const version of definition.versions) {
      const key = modelKeyFrom(definition.name, version.version);
      const name = definition.isGroupShared ? definition.workerGroup : key;
      const gathering = gatherings.get(name) ?? { members: [], identities: [], workers: 0, bytes: 0 };
      gatherings.set(name, gathering);
      const isUnchanged = (): Promise<boolean> => isVersionUnchanged(one, version.version);
      gathering.members.push({ definition, version, isUnchanged });
      gathering.identities.push(`${key} ${identityOf(one, version)}`);
      gathering.workers = Math.max(gathering.workers, workersOf(definition));
      gathering.bytes += fingerprint.versions.get(version.version)?.bytes ?? 0;
    }
  }
  const plans = new Map<ContextName, ContextPlan>();
  for (const [name, { members, identities, workers, bytes }] of gatherings) {
    const lane = members[0]?.definition.lane ?? 'local';
    const identity = identities.sort().join('\n');
    const bytesExpected = workers * (bytes + (lane === 'inline' ? 0 : workerBytesMin));
    plans.set(name, { name, lane, workers, members, identity, fileBytes: bytes, bytesExpected });
  }
  return plans;
}

function workersOf({ lane, instanceCount, warmSpares }: ModelDefinition): number {
  return lane === 'inline' ? instanceCount : instanceCount + warmSpares;
}

async function isVersionUnchanged({ fingerprint, fingerprintNow }: ReadDefinition, version: string): Promise<boolean> {
  const { text } = await fingerprintNow(version);
  return text === fingerprint.versions.get(version)?.text;
}

/** Leaves out the number of instances and the choice of versions, which change without a new load. */
function identityOf({ definition, fingerprint, generation }: ReadDefinition, version: ModelVersionDefinition): string {
  const { instance_group, version_policy, ...config } = version.view.config as ReadonlyJsonObject &
    Record<string, unknown>;
  const { lane, workerGroup, threads, isSpinning, cache } = definition;
  const labels = [...version.view.labels];
  const parts = [
    config,
    version.path,
    version.policy,
    labels,
    lane,
    workerGroup,
    threads,
    isSpinning,
    cache,
    devicesOf(definition),
    sequencingIdentity(version),
    generation,
  ];
  const text = JSON.stringify([...parts, fingerprint.versions.get(version.version)?.text], exactly);
  return createHash('sha256').update(text).digest('hex');
}

/** With one kind of instance their number may change; with several kinds each worker has its own. */
function devicesOf({ placements }: ModelDefinition): readonly string[] {
  const kinds = placements.map((placement) => JSON.stringify(placement));
  return new Set(kinds).size === 1 ? kinds.slice(0, 1) : kinds;
}

function exactly(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value === Number.POSITIVE_INFINITY ? 'Infinity' : value;
}

/** Slots depend on the number of instances, and initial states on files outside of the version folders. */
function sequencingIdentity({ sequencing }: ModelVersionDefinition): unknown {
  if (sequencing === undefined) return undefined;
  const states = sequencing.states.map(({ initialData }) => createHash('sha256').update(initialData).digest('hex'));
  return [sequencing.policy, states];
}
