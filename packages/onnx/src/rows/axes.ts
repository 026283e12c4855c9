import { type RowsValue, unknown, type Value } from './value.ts';

/** Converts an axis counted from the end to one counted from the start. */
export function axisFrom(axis: number, rank: number): number {
  const positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= rank) throw unknown(`axis ${axis} is outside of ${rank} axes`);
  return positive;
}

export function isRows(value: Value | undefined): value is RowsValue {
  return value?.kind === 'rows';
}

export function withoutAxis<Item>(items: readonly Item[], axis: number): readonly Item[] {
  return [...items.slice(0, axis), ...items.slice(axis + 1)];
}

export function withItem<Item>(items: readonly Item[], axis: number, item: Item): readonly Item[] {
  return [...items.slice(0, axis), item, ...items.slice(axis + 1)];
}
