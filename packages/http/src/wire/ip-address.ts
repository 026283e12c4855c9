/** IP addresses as text: which spellings are the same address, and which addresses count as one client. */
import { isIPv4, isIPv6 } from 'node:net';

const groupsOfAddress = 8;
/** IPv6 networks are assigned as /64s: one client may choose any address within. */
const groupsOfOwner = 4;

/**
 * The owner that an address counts for, in limits and shares: an IPv4 address is one owner, also in its IPv6-mapped
 * form, and an IPv6 address counts by its /64, as `2001:db8:0:1::/64`. Anything else is returned as it is: the peer of
 * a Unix socket has no address.
 */
export function ownerOfAddress(address: string): string {
  const plain = unmappedAddress(address);
  const groups = plain.includes(':') ? takeGroups(plain) : undefined;
  if (groups === undefined) return plain;
  const network = groups.slice(0, groupsOfOwner);
  return network.every((group) => group === 0) ? '::/64' : `${network.map(hexadecimal).join(':')}::/64`;
}

/** The IPv4 address within an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, in any spelling); other texts unchanged. */
export function unmappedAddress(address: string): string {
  const groups = address.includes(':') ? takeGroups(address) : undefined;
  if (groups === undefined || groups[5] !== 0xffff || groups.slice(0, 5).some((group) => group !== 0)) return address;
  const [high = 0, low = 0] = groups.slice(6);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** The eight groups of an IPv6 address; undefined for any other text. */
function takeGroups(address: string): number[] | undefined {
  // Link-local addresses carry the interface after a percent sign, which is not part of the address.
  const zoneAt = address.indexOf('%');
  const text = zoneAt < 0 ? address : address.slice(0, zoneAt);
  if (!isIPv6(text)) return undefined;
  const [head = '', tail] = text.split('::');
  const front = groupsFrom(head);
  if (tail === undefined) return front;
  const back = groupsFrom(tail);
  const zeros = new Array<number>(groupsOfAddress - front.length - back.length).fill(0);
  return [...front, ...zeros, ...back];
}

function groupsFrom(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!isIPv4(group)) return Number.parseInt(group, 16);
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

function hexadecimal(group: number): string {
  return group.toString(16);
}
