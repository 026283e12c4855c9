export interface ShadowChoice {
  readonly version: string;
  /** Above 0, at most 100. */
  readonly percent: number;
}

/**
 * Which versions get a copy of a request; `random` returns a number from 0 to below 1 for each. The answering version
 * gets none.
 */
export function shadowsOf(
  shadows: readonly ShadowChoice[],
  answering: string,
  random: () => number,
): readonly string[] {
  const versions: string[] = [];
  for (const { version, percent } of shadows) {
    if (version !== answering && random() * 100 < percent) versions.push(version);
  }
  return versions;
}
