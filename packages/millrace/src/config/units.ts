/** Sizes and times as people write them. */

const byteUnits: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

const secondUnits: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600 };

const quantityForm = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i;

function takeQuantity(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const match = quantityForm.exec(text.trim());
  if (match === null) return undefined;
  const unit = (match[2] as string).toLowerCase();
  if (unit === '') return Number(match[1]);
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  return factor === undefined ? undefined : Number(match[1]) * factor;
}

/** `1048576`, `64MiB`, `1.5 GB`: a whole number of bytes, or undefined. */
export function takeBytes(text: string): number | undefined {
  const bytes = takeQuantity(text, byteUnits);
  return bytes !== undefined && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** `30`, `1.5`, `500ms`, `2min`: seconds, or undefined. */
export function takeSeconds(text: string): number | undefined {
  return takeQuantity(text, secondUnits);
}

/** In the largest unit that leaves a whole number: 67108864 is 64MiB. */
export function formatBytes(bytes: number): string {
  for (const [unit, factor] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const) {
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return String(bytes);
}
