/** What a transport brings to the exchange contract: a way to open a server for a handler, and a client that calls it. */
import type { CancelSignal } from '@millrace/protocol';
import type { HttpHandler, HttpResponse } from '../exchange.ts';

export interface ContractCall {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly (readonly [string, string])[];
  /** One piece: its length is declared. A source of pieces: it is not. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly trailers?: readonly (readonly [string, string])[];
  /** The client goes away when this fires. */
  readonly hangUp?: CancelSignal;
}

export interface ContractReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  readonly trailers: ReadonlyMap<string, string>;
}

export interface ContractServer {
  /** Rejects when the answer did not come, or broke off. */
  call(call: ContractCall): Promise<ContractReply>;
  /** Sees the head and pulls the body when told to. */
  callSlowly(call: ContractCall): Promise<SlowReply>;
  close(): Promise<void>;
}

export interface SlowReply {
  readonly status: number;
  readAll(): Promise<Uint8Array>;
  hangUp(): void;
}

export type OpenContractServer = (handler: HttpHandler, onError: (error: unknown) => void) => Promise<ContractServer>;

/** What the groups of the suite work with; the server is closed after each test. */
export interface ExchangeHarness {
  serve(handler: HttpHandler): Promise<ContractServer>;
  close(): Promise<void>;
  /** What the transport reported since the test began. */
  readonly errors: readonly unknown[];
}

export const utf8Bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const utf8Text = (data: Uint8Array): string => new TextDecoder().decode(data);
export const ok: HttpResponse = { status: 200, headers: [] };

/** Something that happens once and can be waited for. */
export function latch<T = void>(): { promise: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

export async function* pieces(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield utf8Bytes(part);
}
