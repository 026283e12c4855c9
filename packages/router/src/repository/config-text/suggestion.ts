/**
 * The known name that a mistyped one most likely means, as ` (did you mean X?)`; empty when nothing is near. Distance
 * counts insertions, deletions, changes and swaps of neighbours; case and `-` for `_` cost nothing.
 */
export function suggestionFor(name: string, known: Iterable<string>): string {
  const wanted = normal(name);
  let best: string | undefined;
  // A third of the letters may be wrong: enough for typing slips, too few for unrelated words.
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, normal(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best === undefined ? '' : ` (did you mean ${best}?)`;
}

/** Longer names than any known one are cut: they match nothing anyway, and the work stays bounded. */
const comparedLengthMax = 64;

function normal(name: string): string {
  return name.slice(0, comparedLengthMax).toLowerCase().replaceAll('-', '_');
}

function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
