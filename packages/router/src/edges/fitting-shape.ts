/** The innermost free size takes what the fixed ones leave, and other free sizes are 1. Undefined: the elements do not fit. */
export function shapeForCount(shape: readonly number[], count: number): readonly number[] | undefined {
  const fixed = shape.reduce((product, size) => (size < 0 ? product : product * size), 1);
  const innermost = shape.findLastIndex((size) => size < 0);
  const rest = count / fixed;
  if (!Number.isInteger(rest) || (innermost === -1 && rest !== 1)) return undefined;
  return shape.map((size, axis) => (size >= 0 ? size : axis === innermost ? rest : 1));
}
