import { nearestName } from '@millrace/protocol';

/** ` Did you mean NAME?`, or nothing. */
export function didYouMean(written: string, known: Iterable<string>, show = (name: string) => name): string {
  const name = nearestName(written, known);
  return name === undefined ? '' : ` Did you mean ${show(name)}?`;
}
