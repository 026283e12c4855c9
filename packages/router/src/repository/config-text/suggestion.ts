import { nearestName } from '@millrace/protocol';

/** ` (did you mean X?)`, or nothing. */
export function suggestionFor(name: string, known: Iterable<string>): string {
  const near = nearestName(name, known);
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}
