/** What `opened` warns of. */
import { type Exactness, isExact } from './exactness.ts';

const noWarnings: readonly string[] = [];

/** `id`: if the client has chosen it. */
export function openingWarnings(id: string | undefined, exactness: Exactness | undefined): readonly string[] {
  const warnings = id === undefined ? noWarnings : streamIdWarnings(id);
  if (exactness === undefined || isExact(exactness.verdict)) return warnings;
  return [...warnings, `exact: false: after a failure the stream may go on with other values; ${exactness.reason}`];
}

/** Whoever guesses the id of a stream may read it where callers are not authenticated. */
const streamIdBitsMin = 64;

/**
 * What `opened` says about an id that a client chose: a warning where it has room for fewer than 64 random bits. That is its
 * length times the bits of a character, by the kinds of characters in it; nothing tells a random id from any other.
 */
export function streamIdWarnings(id: string): readonly string[] {
  let kinds = 0;
  if (/[0-9]/.test(id)) kinds += 10;
  if (/[a-f]/.test(id)) kinds += 6;
  if (/[g-z]/.test(id)) kinds += 20;
  if (/[A-F]/.test(id)) kinds += 6;
  if (/[G-Z]/.test(id)) kinds += 20;
  // Signs mostly separate groups, as in a UUID.
  const characters = id.replace(/[._~-]/g, '').length;
  const bits = Math.floor(characters * Math.log2(Math.max(kinds, 1)));
  if (bits >= streamIdBitsMin) return [];
  return [
    `the stream id has room for ${bits} random bits, less than ${streamIdBitsMin}, and can be guessed; use 128 random bits, or leave it to the server`,
  ];
}
