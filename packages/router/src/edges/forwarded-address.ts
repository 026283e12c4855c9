/** Reads X-Forwarded-For, of which only the end can be trusted: the client may have sent anything in front. */
import { isIP } from 'node:net';
import type { AddressRanges } from '@millrace/http';

/** More proxies in a row than any deployment has; the rest of the list is not read. */
export const forwardedHopsMax = 16;
/** No address with brackets, a port and some space around it is longer. */
const entryLengthMax = 64;

/**
 * The right-most address that is not a trusted proxy: each proxy adds its client at the end, so it is the one that
 * the last trusted proxy saw. Where all are trusted, the left-most of them; where an entry is not an address, the one
 * after it, the last that a trusted proxy added. Undefined when there is none.
 */
export function takeForwardedAddress(lines: readonly string[], trustedProxies: AddressRanges): string | undefined {
  let vouchedFor: string | undefined;
  let hops = 0;
  for (let line = lines.length - 1; line >= 0; line--) {
    const text = lines[line] as string;
    for (let end = text.length; end >= 0; hops++) {
      if (hops === forwardedHopsMax) return vouchedFor;
      const comma = end === 0 ? -1 : text.lastIndexOf(',', end - 1);
      const isTooLong = end - comma - 1 > entryLengthMax;
      const address = isTooLong ? undefined : takeAddress(text.slice(comma + 1, end).trim());
      if (address === undefined) return vouchedFor;
      if (!trustedProxies.has(address)) return address;
      vouchedFor = address;
      end = comma;
    }
  }
  return vouchedFor;
}

/** `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`, and with a port `192.0.2.1:80`, `[2001:db8::1]:80`. */
function takeAddress(text: string): string | undefined {
  if (isIP(text) !== 0) return text;
  const [, bracketed, dotted] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::\d{1,5})?$/i.exec(text) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : undefined;
  return dotted !== undefined && isIP(dotted) === 4 ? dotted : undefined;
}
