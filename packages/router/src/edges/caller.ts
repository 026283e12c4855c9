/** Whose request it is, as far as an edge can tell: for limits and fairness, not for trust. */
import type { HeaderFields, Peer } from '@millrace/http';

/** Longer names are cut: they are kept for as long as their requests wait. */
export const callerLengthMax = 128;

/**
 * What the trusted field says, or else the address of the peer. `callerHeader` is empty where nobody in front of the
 * server vouches for the field: any caller could then be anyone.
 */
export function callerFrom(headers: Pick<HeaderFields, 'get'>, peer: Peer, callerHeader: string): string {
  if (callerHeader === '') return peer.address;
  const named = headers.get(callerHeader);
  if (named === undefined || named === '') return peer.address;
  return named.length > callerLengthMax ? named.slice(0, callerLengthMax) : named;
}
