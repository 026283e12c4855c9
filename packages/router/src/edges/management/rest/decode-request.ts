/** Bodies and fields of the REST face: JSON against a schema, and what `If-Match` asks. */
import type { HttpRequest } from '@millrace/http';
import { InferenceError, type JsonObject, parseJson, stringifyJson } from '@millrace/protocol';
import type { z } from 'zod';
import type { ShadowedVersion, TrafficChange, WeightedVersion } from '../../../registry/management.ts';
import { fileFromBase64 } from '../../repository/base64-file.ts';
import type { loadSchema, trafficChangeSchema } from './schemas.ts';

export const ifMatchField = 'if-match';

/** No bytes at all stand for an empty object. Throws `invalid-request` that names every field that does not fit. */
export function bodyFrom<Schema extends z.ZodType>(bytes: Uint8Array, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(bytes.length === 0 ? {} : parseJson(bytes));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(problemFrom);
  throw new InferenceError('invalid-request', `the body does not fit: ${problems.join('; ')}`);
}

function problemFrom(issue: z.core.$ZodIssue): string {
  const where = issue.path.length === 0 ? 'the body' : issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') return `${where}: ${issue.message}`;
  return `${where} has no field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`;
}

/** The revision that the caller saw; undefined: any will do. */
export function expectedRevisionFrom(request: HttpRequest): number | undefined {
  const values = request.headers.getAll(ifMatchField);
  if (values.length === 0) return undefined;
  const written = values.join(', ').trim();
  if (written === '*') return undefined;
  const revision = /^"(\d{1,15})"$/.exec(written)?.[1];
  if (revision !== undefined) return Number(revision);
  throw new InferenceError('invalid-request', `${ifMatchField} must be an etag of this traffic like "3", or *`);
}

export function trafficChangeFrom(body: z.infer<typeof trafficChangeSchema>): TrafficChange {
  const { labels, split, shadows } = body;
  return {
    ...(labels === undefined ? {} : { labels: labelsFrom(labels) }),
    ...(split === undefined ? {} : { split: split satisfies readonly WeightedVersion[] }),
    ...(shadows === undefined ? {} : { shadows: shadows satisfies readonly ShadowedVersion[] }),
  };
}

function labelsFrom(labels: Readonly<Record<string, string | null>>): ReadonlyMap<string, string | undefined> {
  return new Map(Object.entries(labels).map(([label, version]) => [label, version ?? undefined]));
}

export interface DecodedLoad {
  readonly config: string | undefined;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export function loadFrom(body: z.infer<typeof loadSchema>): DecodedLoad {
  const files = Object.entries(body.files ?? {}).map(([path, text]) => [path, fileFromBase64(path, text)] as const);
  return {
    // What came as JSON is JSON.
    config: body.config === undefined ? undefined : stringifyJson(body.config as JsonObject),
    files: new Map(files),
  };
}

/** A worker's number in a path. */
export function workerFrom(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InferenceError('invalid-request', `a worker has a number, not the name '${text}'`);
}
