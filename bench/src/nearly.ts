/** Compared as numbers: a batch may round the last bit otherwise than a lone row. */
export function isNearly(values: ArrayLike<number>, expected: ArrayLike<number>): boolean {
  if (values.length !== expected.length) return false;
  for (let index = 0; index < expected.length; index++)
    if (!(Math.abs((values[index] as number) - (expected[index] as number)) < 1e-5)) return false;
  return true;
}
