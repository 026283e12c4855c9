/** A decimal, hexadecimal (`0x`) or octal (leading `0`) integer as the text format writes it; undefined when it is none. */
export function integerFrom(text: string): bigint | undefined {
  if (/^0[xX][0-9A-Fa-f]+$/.test(text)) return BigInt(text);
  if (/^0[0-7]+$/.test(text)) return BigInt(`0o${text.slice(1)}`);
  if (/^(?:0|[1-9][0-9]*)$/.test(text)) return BigInt(text);
  return undefined;
}

/** A float as the text format writes it: decimal, an exponent, an `f` at the end; undefined for hex and octal. */
export function floatFrom(text: string): number | undefined {
  if (/^0[xX]/.test(text) || /^0[0-9]+$/.test(text)) return undefined;
  const value = Number(text.replace(/[fF]$/, ''));
  return Number.isNaN(value) ? undefined : value;
}

/** `inf`, `infinity` and `nan` in any case. */
export function specialFloatFrom(text: string): number | undefined {
  switch (text.toLowerCase()) {
    case 'inf':
    case 'infinity':
      return Number.POSITIVE_INFINITY;
    case 'nan':
      return Number.NaN;
    default:
      return undefined;
  }
}
