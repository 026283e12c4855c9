const versionMax = 2n ** 63n - 1n;

/** A version is a folder named by a whole number that does not begin with 0; anything else in the model's folder is no version. */
export function isVersionName(name: string): boolean {
  return /^[1-9][0-9]{0,18}$/.test(name) && BigInt(name) <= versionMax;
}

/** By number, oldest first. */
export function compareVersions(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
