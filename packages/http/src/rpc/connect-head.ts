import type { HeaderFields } from '../exchange.ts';
import { RpcError } from './rpc-error.ts';

/** A Connect client may state the version of the protocol; there is only one. */
export function connectHeadProblem(headers: HeaderFields): RpcError | undefined {
  const version = headers.get('connect-protocol-version');
  if (version === undefined || version === '1') return undefined;
  return new RpcError('invalid_argument', `connect-protocol-version must be "1", not ${JSON.stringify(version)}`);
}
