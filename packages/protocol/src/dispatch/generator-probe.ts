/** What the worker of a generator found out about its decoder, which the router keeps for the next load of the same files. */

export interface GeneratorProbe {
  /** Of the graph, the engine and the processor that it was made with: for others it says nothing. */
  readonly key: string;
  /** Whether caches of unequal length may be padded to one. */
  readonly layout: 'padded' | 'exact';
  /** The most texts that share a run. */
  readonly rowsMax: number;
  /** Repeated runs give the same bits, so that a stream goes on after a failure as it would have without it. */
  readonly isExact: boolean;
  /** What had to be given up, for operators. */
  readonly findings: readonly string[];
}

const findingsMax = 8;
const charactersMax = 500;

/** Undefined: it is none, as a later release may write it. */
export function takeGeneratorProbe(value: unknown): GeneratorProbe | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { key, layout, rowsMax, isExact, findings } = value as Partial<Record<keyof GeneratorProbe, unknown>>;
  const isText = (text: unknown): text is string => typeof text === 'string' && text.length <= charactersMax;
  const areTexts = Array.isArray(findings) && findings.length <= findingsMax && findings.every(isText);
  if (!isText(key) || !areTexts || typeof isExact !== 'boolean') return undefined;
  if (layout !== 'padded' && layout !== 'exact') return undefined;
  if (typeof rowsMax !== 'number' || !Number.isSafeInteger(rowsMax) || rowsMax < 1) return undefined;
  return { key, layout, rowsMax, isExact, findings };
}

/** The JSON at the end of a `ready` frame. */
export function generatorProbeFrom(json: string): GeneratorProbe | undefined {
  try {
    return takeGeneratorProbe(JSON.parse(json));
  } catch {
    return undefined;
  }
}
