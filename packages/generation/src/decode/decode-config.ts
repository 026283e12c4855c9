import { mustHold } from './must-hold.ts';

/** How sequences that have read different numbers of tokens share a run. */
export type CacheLayout =
  /** The cache of a sequence is padded to a length that follows from its own position; sequences of one length share runs. */
  | 'padded'
  /** No padding: only sequences that have read the same number of tokens share runs. */
  | 'exact';

export interface DecodeConfig {
  readonly layout: CacheLayout;
  /** Tokens of a prompt that one run reads: what a newcomer delays the others by. */
  readonly prefillTokensMax: number;
  /** Sequences that share a run. */
  readonly rowsMax: number;
  /** The smallest padded length; the others are twice, four times this, and so on. */
  readonly paddingTokensMin: number;
  /** Cache of one token of one sequence. */
  readonly tokenBytes: number;
  /** Cache of all sequences together. */
  readonly cacheBytesMax: number;
}

export const defaultDecodeConfig: Omit<DecodeConfig, 'tokenBytes'> = Object.freeze({
  layout: 'padded',
  prefillTokensMax: 64,
  rowsMax: 32,
  paddingTokensMin: 64,
  cacheBytesMax: 256 * 1024 * 1024,
});

export function resolveDecodeConfig(options: Partial<DecodeConfig> & Pick<DecodeConfig, 'tokenBytes'>): DecodeConfig {
  const config: DecodeConfig = Object.freeze({ ...defaultDecodeConfig, ...options });
  mustHold(config.prefillTokensMax >= 1, 'prefillTokensMax is at least 1');
  mustHold(config.rowsMax >= 1, 'rowsMax is at least 1');
  mustHold(config.paddingTokensMin >= 1, 'paddingTokensMin is at least 1');
  mustHold(config.tokenBytes >= 0, 'tokenBytes is not negative');
  mustHold(config.cacheBytesMax > 0, 'cacheBytesMax is above 0');
  return config;
}

/** The length of the cache that a run gets for a sequence which has read this many tokens: a function of them alone. */
export function cacheTokensFor(tokensRead: number, { layout, paddingTokensMin }: DecodeConfig): number {
  if (layout === 'exact' || tokensRead === 0) return tokensRead;
  let padded = paddingTokensMin;
  while (padded < tokensRead) padded *= 2;
  return padded;
}

/** The most tokens of a sequence whose cache fits into the memory for caches. */
export function sequenceTokensMax({ tokenBytes, cacheBytesMax, layout, paddingTokensMin }: DecodeConfig): number {
  if (tokenBytes === 0) return Number.POSITIVE_INFINITY;
  const fitting = Math.floor(cacheBytesMax / tokenBytes);
  if (layout === 'exact') return fitting;
  if (fitting < paddingTokensMin) return 0;
  let padded = paddingTokensMin;
  while (padded * 2 <= fitting) padded *= 2;
  return padded;
}
