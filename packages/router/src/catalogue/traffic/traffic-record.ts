/** The traffic of one model as the metadata store keeps it: one value, so that a change takes effect as a whole. */
import type { ShadowedVersion, TrafficPolicy, WeightedVersion } from './traffic-policy.ts';

export const trafficPrefix = 'traffic/';

export function trafficKey(model: string): string {
  return `${trafficPrefix}${model}`;
}

export const noTraffic: TrafficPolicy = Object.freeze({
  labels: new Map<string, string>(),
  split: [],
  shadows: [],
  revision: 0,
});

interface TrafficRecord {
  readonly labels: Readonly<Record<string, string>>;
  readonly split: readonly WeightedVersion[];
  readonly shadows: readonly ShadowedVersion[];
}

export function bytesFromTraffic({ labels, split, shadows }: TrafficPolicy): Uint8Array {
  const record: TrafficRecord = { labels: Object.fromEntries(labels), split, shadows };
  return new TextEncoder().encode(JSON.stringify(record));
}

/** Undefined for bytes that are not such a record. */
export function trafficFromBytes(bytes: Uint8Array, revision: number): TrafficPolicy | undefined {
  let record: unknown;
  try {
    record = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  if (!isRecord(record)) return undefined;
  return { labels: new Map(Object.entries(record.labels)), split: record.split, shadows: record.shadows, revision };
}

function isRecord(value: unknown): value is TrafficRecord {
  if (!isObject(value)) return false;
  const { labels, split, shadows } = value;
  return (
    isObject(labels) &&
    Object.values(labels).every((version) => typeof version === 'string') &&
    Array.isArray(split) &&
    split.every((part) => isObject(part) && typeof part.version === 'string' && isPositive(part.weight)) &&
    Array.isArray(shadows) &&
    shadows.every((shadow) => isObject(shadow) && typeof shadow.version === 'string' && isPositive(shadow.percent))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0;
}
