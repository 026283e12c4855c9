import { BlockList, isIP, isIPv4 } from 'node:net';
import { unmappedAddress } from './ip-address.ts';

interface AddressRange {
  readonly address: string;
  readonly prefixBits: number;
}

const mappedPrefixBits = 96;

/** Whether a text is an address (`192.0.2.1`) or a range in CIDR notation (`10.0.0.0/8`, `2001:db8::/32`). */
export function isAddressRange(text: string): boolean {
  return takeRange(text) !== undefined;
}

/**
 * A set of IP addresses given as addresses and CIDR ranges. It contains an IPv4 address in its IPv6-mapped form too.
 */
export class AddressRanges {
  readonly isEmpty: boolean;
  readonly #list = new BlockList();

  /** Throws a RangeError for a text that is neither. */
  constructor(texts: readonly string[]) {
    this.isEmpty = texts.length === 0;
    for (const text of texts) {
      const range = takeRange(text);
      if (range === undefined) throw new RangeError(`not an IP address or CIDR range: ${text}`);
      this.#list.addSubnet(range.address, range.prefixBits, familyOf(range.address));
    }
  }

  /** False for a text that is not an address. */
  has(address: string): boolean {
    if (this.isEmpty) return false;
    const plain = unmappedAddress(address);
    return isIP(plain) !== 0 && this.#list.check(plain, familyOf(plain));
  }
}

export const noAddresses = new AddressRanges([]);

function takeRange(text: string): AddressRange | undefined {
  const slash = text.indexOf('/');
  const written = slash < 0 ? text : text.slice(0, slash);
  const bits = slash < 0 ? undefined : text.slice(slash + 1);
  // A zone names an interface of one machine; ranges have none.
  if (isIP(written) === 0 || written.includes('%')) return undefined;
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return undefined;
  const address = unmappedAddress(written);
  const bitsMax = isIPv4(address) ? 32 : 128;
  const isMapped = address !== written;
  const prefixBits = bits === undefined ? bitsMax : Number(bits) - (isMapped ? mappedPrefixBits : 0);
  return prefixBits < 0 || prefixBits > bitsMax ? undefined : { address, prefixBits };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
