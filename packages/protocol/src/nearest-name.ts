/**
 * The known name that a misspelt one most likely means; undefined when none is close. Counted are insertions,
 * deletions, replacements and swaps of neighbours; case and `-`, `_` and `.` are ignored.
 */
export function nearestName(written: string, known: Iterable<string>): string | undefined {
  const wanted = comparable(written);
  let best: string | undefined;
  // A third of the letters may be wrong, but never more than three: beyond that a guess is noise.
  let bestDistance = Math.max(1, Math.min(3, Math.floor(wanted.length / 3))) + 1;
  for (const name of known) {
    const distance = editDistance(wanted, comparable(name), bestDistance);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Names longer than any known one are truncated: they match nothing anyway, and the work stays limited. */
const comparedLengthMax = 64;

function comparable(name: string): string {
  return name.slice(0, comparedLengthMax).toLowerCase().replaceAll(/[-_.]/g, '');
}

/** The optimal string alignment distance of two texts, or `atMost` when it is as large. */
function editDistance(left: string, right: string, atMost: number): number {
  if (Math.abs(left.length - right.length) >= atMost) return atMost;
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      let distance = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
      );
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (isSwap) distance = Math.min(distance, (beforeLast[column - 2] as number) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return Math.min(last[right.length] as number, atMost);
}
