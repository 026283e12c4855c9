/** Reads bodies and header fields of the REST interface: JSON against a schema, and `If-Match`. */
import type { HttpRequest } from '@millrace/http';
import {
  InferenceError,
  type JsonObject,
  listed,
  quote,
  quotedCharactersMax,
  shortened,
  stringifyJson,
} from '@millrace/protocol';
import type * as z from 'zod';
import type { ShadowedVersion, TrafficChange, WeightedVersion } from '../../../catalogue/traffic/traffic-policy.ts';
import type { RoutedRequest } from '../../routing/route.ts';
import type { ManagementOperations } from '../operations.ts';
import type { loadSchema, streamsQuerySchema, trafficChangeSchema } from './schemas.ts';

export const ifMatchField = 'if-match';

/** Problems and names that a refusal lists. */
const listedMax = 8;

/** Throws an `invalid-request` that names the first invalid fields. */
export function bodyFrom<Schema extends z.ZodType>(body: JsonObject, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const problems = issues.slice(0, listedMax).map(problemFrom);
  if (issues.length > listedMax) problems.push(`and ${issues.length - listedMax} more`);
  throw new InferenceError('invalid-request', `the body is invalid: ${problems.join('; ')}`);
}

function problemFrom(issue: z.core.$ZodIssue): string {
  const path = issue.path.map((key) => shortened(String(key), quotedCharactersMax)).join('.');
  const where = path === '' ? 'the body' : path;
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => JSON.stringify(shortened(key, quotedCharactersMax)));
    return `${listed(keys, listedMax)} is not a field of ${where}`;
  }
  const [, expected, received] = /^Invalid input: expected (\w+), received (\w+)$/.exec(issue.message) ?? [];
  if (expected === undefined) return `${where}: ${shortened(issue.message, quotedCharactersMax)}`;
  return received === 'undefined'
    ? `${where} is missing; it must be of type ${expected}`
    : `${where} must be of type ${expected}, not ${received}`;
}

/** The revision that the caller expects; undefined: any. */
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

/** A value that was parsed from JSON is a JSON value. */
export function configTextFrom({ config }: z.infer<typeof loadSchema>): string | undefined {
  return config === undefined ? undefined : stringifyJson(config as JsonObject);
}

/** The query as its schema made it. */
export function streamsQueryFrom(query: RoutedRequest['query']): Parameters<ManagementOperations['streams']>[0] {
  const { model = '', open, limit = '0', after = '' } = query as z.infer<typeof streamsQuerySchema>;
  return { model, isOpenOnly: open === 'true', limit: Number(limit), after };
}

/** A worker's number in a path. */
export function workerFrom(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InferenceError(
    'invalid-request',
    `${quote(text)} is not the number of a worker; list the instances to see the workers`,
  );
}
