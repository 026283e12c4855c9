import type { GraphProto } from './model/model-proto.ts';

/**
 * The nodes that nothing reads any more once some are left out, and so on with what only those read.
 *
 * @param kept tensors that are read from outside
 */
export function unreadNodes(
  { nodes }: GraphProto,
  omitted: readonly number[],
  kept: ReadonlySet<string>,
): readonly number[] {
  const readers = new Map<string, number>();
  const producers = new Map<string, number>();
  for (const [index, { inputs, outputs }] of nodes.entries()) {
    for (const name of inputs) readers.set(name, (readers.get(name) ?? 0) + 1);
    for (const name of outputs) producers.set(name, index);
  }
  const left = new Set(omitted);
  const found: number[] = [];
  const queue = [...omitted];
  for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
    for (const name of nodes[index]?.inputs ?? []) {
      readers.set(name, (readers.get(name) ?? 0) - 1);
      const producer = producers.get(name);
      if (producer === undefined || left.has(producer)) continue;
      const isRead = nodes[producer]?.outputs.some((output) => kept.has(output) || (readers.get(output) ?? 0) > 0);
      if (isRead !== false) continue;
      left.add(producer);
      found.push(producer);
      queue.push(producer);
    }
  }
  return found;
}
