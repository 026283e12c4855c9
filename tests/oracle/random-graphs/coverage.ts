/** Whether the random graphs have every operator that the row analysis knows. */
import { knownOperators } from '@millrace/onnx/testing';

/** Operators that no graph can have, with the reason. */
const left: ReadonlyMap<string, string> = new Map([
  ['Swish', 'ONNX Runtime 1.30 has no kernel for it'],
  ['ai.onnx.ml.ZipMap', 'its output is no tensor'],
  ['com.microsoft.LayerNormalization', 'ONNX Runtime 1.30 has no such operator'],
  ['com.microsoft.SimplifiedLayerNormalization', 'ONNX Runtime 1.30 has no such operator'],
]);

/** Each known operator is to be in this share of the graphs. */
export const shareWanted = 0.01;

export interface Coverage {
  readonly known: number;
  /** Known operators that are in no graph, though they could be. */
  readonly missing: readonly string[];
  /** Known operators in fewer graphs than wanted, with the share of graphs. */
  readonly seldom: Readonly<Record<string, number>>;
}

export function coverageOf(graphsWith: (operator: string) => number, graphs: number): Coverage {
  const known = knownOperators()
    .map((name) => name.replace(/^:/, '').replace(':', '.'))
    .filter((name) => !left.has(name));
  const shares = known.map((name) => [name, graphsWith(name) / Math.max(1, graphs)] as const);
  return {
    known: known.length,
    missing: shares.filter(([, share]) => share === 0).map(([name]) => name),
    seldom: Object.fromEntries(shares.filter(([, share]) => share > 0 && share < shareWanted)),
  };
}
