const namesMax = 3;
/** Longer ones are compared by their beginning: a caller chooses the length. */
const charactersMax = 100;

/** The names that differ least from a text, letter case aside. */
export function nearestNames(text: string, names: readonly string[]): readonly string[] {
  const wanted = text.trim().toLowerCase().slice(0, charactersMax);
  return [...new Set(names)]
    .map((name) => ({ name, distance: editDistance(wanted, name.toLowerCase()) }))
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, namesMax)
    .map(({ name }) => name);
}

/** How many letters have to be added, removed or replaced (Levenshtein). */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] as number) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] as number) + 1, (current[column - 1] as number) + 1));
    }
    previous = current;
  }
  return previous[right.length] as number;
}
