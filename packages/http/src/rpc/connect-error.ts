/** Errors and the end-of-stream message in Connect's JSON. */
import type { HeaderList } from '../exchange.ts';
import { unpaddedBase64From } from './metadata.ts';
import type { RpcError } from './rpc-error.ts';

interface ConnectError {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

export function connectErrorFrom({ code, message, details }: RpcError): ConnectError {
  return {
    code,
    ...(message === '' ? {} : { message }),
    ...(details.length === 0
      ? {}
      : { details: details.map(({ type, value }) => ({ type, value: unpaddedBase64From(value) })) }),
  };
}

/** The end-of-stream message. */
export function connectEndFrom(error: RpcError | undefined, trailing: HeaderList): Uint8Array {
  const metadata: Record<string, string[]> = Object.create(null);
  for (const [name, value] of trailing) {
    metadata[name] ??= [];
    metadata[name].push(value);
  }
  return Buffer.from(
    JSON.stringify({
      ...(error === undefined ? {} : { error: connectErrorFrom(error) }),
      ...(trailing.length === 0 ? {} : { metadata }),
    }),
  );
}
