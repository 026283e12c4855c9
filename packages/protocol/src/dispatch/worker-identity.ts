/** Who a worker is, as its greeting says: what a router needs to tell workers apart that it did not start. */
import { MalformedFrame } from './frame-layout.ts';

/** Digests in a greeting; a worker that has more loaded states the latest. Keeps the greeting below `frameBytesMaxLeast`. */
export const loadedDigestsMax = 128;
export const workerIdCharactersMax = 256;
const digestCharactersMax = 80;
const refusalCharactersMax = 1000;

export interface WorkerIdentity {
  /** A name that stays the same when the worker is started again. */
  readonly id: string;
  /** New for each start of the process. */
  readonly incarnation: string;
  /** The most batches that it holds at once, over all of its links; 0: as many as its models need. */
  readonly capacity: number;
  /** Digests of the content that it has loaded (`ModelContent.digest`). */
  readonly loaded: readonly string[];
  /** Why it does not take this link, which it closes after the greeting. */
  readonly refusal?: string;
}

/** The JSON of a greeting, of a bounded length. */
export function greetingTextOf({ id, incarnation, loaded, refusal }: WorkerIdentity): string {
  return JSON.stringify({
    id: id.slice(0, workerIdCharactersMax),
    incarnation,
    loaded: loaded.slice(-loadedDigestsMax),
    ...(refusal === undefined ? {} : { refusal: refusal.slice(0, refusalCharactersMax) }),
  });
}

/** Parses the JSON of a greeting and checks every field. */
export function workerIdentityFrom(capacity: number, json: string): WorkerIdentity {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new MalformedFrame('a hello frame does not contain valid JSON');
  }
  if (typeof value !== 'object' || value === null) throw wrong('its text', 'a JSON object');
  const { id, incarnation, loaded, refusal } = value as Record<string, unknown>;
  if (!Array.isArray(loaded) || loaded.length > loadedDigestsMax) {
    throw wrong('loaded', `a list of at most ${loadedDigestsMax} digests`);
  }
  return {
    id: textFrom(id, 'id', workerIdCharactersMax),
    incarnation: textFrom(incarnation, 'incarnation', workerIdCharactersMax),
    capacity,
    loaded: loaded.map((digest) => textFrom(digest, 'a digest', digestCharactersMax)),
    ...(refusal === undefined ? {} : { refusal: textFrom(refusal, 'refusal', refusalCharactersMax) }),
  };
}

function textFrom(value: unknown, field: string, charactersMax: number): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= charactersMax) return value;
  throw wrong(field, `a string of 1 to ${charactersMax} characters`);
}

function wrong(field: string, expected: string): MalformedFrame {
  return new MalformedFrame(`in a hello frame, ${field} must be ${expected}`);
}
