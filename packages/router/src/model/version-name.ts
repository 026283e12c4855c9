const versionMax = 2n ** 63n - 1n;

/** Versions are folders named by a whole number that does not begin with 0; everything else in the folder is not one. */
export function isVersionName(name: string): boolean {
  return /^[1-9][0-9]{0,18}$/.test(name) && BigInt(name) <= versionMax;
}

/** By number, oldest first. */
export function compareVersions(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
