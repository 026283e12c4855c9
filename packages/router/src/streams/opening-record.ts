/** What a stream remembers of its opening: who may resume it, and what it is pinned to. */
import { createHash, randomBytes } from 'node:crypto';
import type { ModelKey, StreamModelKind } from '@millrace/core';
import { parseGenerationParameters } from '@millrace/generation';
import { type JsonObject, parseJson, stringifyJson } from '@millrace/protocol';
import { modelKeyFrom } from '../data-plane/served-model.ts';
import type { ModelView } from '../model/model-view.ts';
import type { Exactness } from './exactness.ts';

export interface OpeningRecord {
  readonly principal: string;
  /** Whose stream it is: its steps take his turns, and its memory counts for him, also after a restart. */
  readonly caller: string;
  /** As the client wrote it: `model`, `model:version` or `model@label`. */
  readonly context: string;
  readonly parameters: JsonObject;
  /** Kept: it would otherwise be made again for every call that names the stream. */
  readonly parametersDigest: string;
  /** Of a generator whose caller gave none: a replay repeats the text. */
  readonly drawnSeed?: number;
  readonly model: string;
  readonly version: string;
  /** Of the files of the version. */
  readonly modelDigest: string;
  readonly modelKind: StreamModelKind;
  readonly isResumable: boolean;
  /** What the probe of the version had found; undefined: its streams have no state. */
  readonly exactness: Exactness | undefined;
  readonly openedAtMs: number;
  /** Nothing else is known of it: it was never read again (quarantined-stream.ts). */
  readonly isQuarantined?: boolean;
}

/** What the journal shows of a stream without reading its log: the version that it needs. */
export function journalTagOf({ name, version }: Pick<ModelView, 'name' | 'version'>): ModelKey {
  return modelKeyFrom(name, version);
}

export function encodeOpening(record: OpeningRecord): Uint8Array {
  const { exactness, ...rest } = record;
  return Buffer.from(stringifyJson({ ...rest, ...(exactness && { exactness: { ...exactness } }) }));
}

/** Objects of a stream that keeps nothing, and of the values of its parameters. */
const idleStreamBytes = 8 * 1024;
const bytesPerOpeningByte = 8;

/** What an open stream takes beside what it keeps: its opening is there encoded, and as values. */
export function openingMemoryBytes(payload: Uint8Array): number {
  return idleStreamBytes + bytesPerOpeningByte * payload.byteLength;
}

export function decodeOpening(bytes: Uint8Array): OpeningRecord {
  const record = parseJson(bytes) as unknown as OpeningRecord &
    Partial<Pick<OpeningRecord, 'caller' | 'parametersDigest'>>;
  // Earlier versions wrote neither.
  return {
    ...record,
    caller: record.caller ?? '',
    parametersDigest: record.parametersDigest ?? parametersDigest(record.parameters),
  };
}

/** With the seed that was drawn for the stream. */
export function streamParametersOf({ parameters, drawnSeed }: OpeningRecord): JsonObject {
  return drawnSeed === undefined ? parameters : { ...parameters, seed: drawnSeed };
}

/**
 * What the opening of a generator's stream adds to its record: a seed where the caller gave none. Throws `invalid-request` for
 * parameters that every text of the stream would be refused for.
 */
export function generationOpeningOf(
  { isGenerator, generationBounds }: ModelView,
  parameters: JsonObject,
): Pick<OpeningRecord, 'drawnSeed'> {
  if (isGenerator !== true) return {};
  if (generationBounds !== undefined) {
    parseGenerationParameters(parameters, generationBounds.defaults, generationBounds.limits);
  }
  return parameters.seed === undefined ? { drawnSeed: drawSeed() } : {};
}

/** 53 bits, which a number holds exactly. */
function drawSeed(): number {
  return Number(randomBytes(8).readBigUInt64LE() >> 11n);
}

/** Two openings with the same parameters are the same, in whatever order they were written. */
export function parametersDigest(parameters: JsonObject): string {
  return createHash('sha256').update(JSON.stringify(parameters, sortedKeys)).digest('base64url');
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
