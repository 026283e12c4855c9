/** What the suite tells a client to do, as protobuf-es gives it. */
import type { Any } from '@bufbuild/protobuf/wkt';
import type { Header } from '../connect/messages.ts';

export const protocolOf = { connect: 1, grpc: 2, grpcWeb: 3 } as const;
export const streamTypeOf = { unary: 1, clientStream: 2, serverStream: 3, halfDuplex: 4, fullDuplex: 5 } as const;

export type CancelTiming =
  | { readonly case: 'beforeCloseSend' }
  | { readonly case: 'afterCloseSendMs'; readonly value: number }
  | { readonly case: 'afterNumResponses'; readonly value: number }
  | { readonly case: undefined };

export interface ClientCompatRequest {
  readonly testName: string;
  readonly protocol: number;
  readonly host: string;
  readonly port: number;
  readonly serverTlsCert: Uint8Array;
  readonly clientTlsCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
  readonly messageReceiveLimit: number;
  readonly service?: string;
  readonly method?: string;
  readonly streamType: number;
  readonly requestHeaders: readonly Header[];
  readonly requestMessages: readonly Any[];
  readonly timeoutMs?: number;
  readonly requestDelayMs: number;
  readonly cancel?: { readonly cancelTiming: CancelTiming };
}
