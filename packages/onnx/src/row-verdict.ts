/**
 * Whether a graph keeps the rows of a batch apart. Independent: for every number of rows N of at least 1, each output has exactly N rows on
 * axis 0, and row i depends on row i of the inputs alone. Anything short of a proof is unknown.
 */
export type RowVerdict =
  | { readonly kind: 'independent' }
  | {
      readonly kind: 'dependent' | 'unknown';
      /** The node that decided, as an operator would search for it: its name, or its operator and first output. */
      readonly node: string;
      readonly reason: string;
    };

/** Whether the rows of the model file at `path` are independent. Never rejects: an unreadable file is unknown. */
export type AnalyseRows = (path: string) => Promise<RowVerdict>;
