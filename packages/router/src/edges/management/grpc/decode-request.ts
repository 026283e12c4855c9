/** Converts requests of the gRPC interface into arguments of the operations. */
import { InferenceError, quote } from '@millrace/protocol';
import type { TrafficChange } from '../../../catalogue/traffic/traffic-policy.ts';
import type { ChangeTrafficRequest } from '../../../proto/generated/millrace/v1/management_pb.ts';

/** Throws `invalid-request` for a label that is both set and removed. */
export function trafficChangeFromMessage(request: ChangeTrafficRequest): TrafficChange {
  const labels = new Map<string, string | undefined>(Object.entries(request.labels));
  for (const label of request.removedLabels) {
    if (labels.has(label)) throw new InferenceError('invalid-request', `label ${quote(label)} is both set and removed`);
    labels.set(label, undefined);
  }
  const { split, shadows } = request;
  return {
    ...(labels.size === 0 ? {} : { labels }),
    ...(split === undefined ? {} : { split: split.versions.map(({ version, weight }) => ({ version, weight })) }),
    ...(shadows === undefined
      ? {}
      : { shadows: shadows.versions.map(({ version, percent }) => ({ version, percent })) }),
  };
}

/** A revision that a double cannot hold does not exist and must match none: -1 is never the current one. */
export function expectedRevisionFromMessage({ expectedRevision }: ChangeTrafficRequest): number | undefined {
  if (expectedRevision === undefined) return undefined;
  return expectedRevision > BigInt(Number.MAX_SAFE_INTEGER) ? -1 : Number(expectedRevision);
}
