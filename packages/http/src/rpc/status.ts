/** The closed set of error codes that gRPC and Connect share. */
export const statusCodes = {
  canceled: { grpc: 1, http: 499 },
  unknown: { grpc: 2, http: 500 },
  invalid_argument: { grpc: 3, http: 400 },
  deadline_exceeded: { grpc: 4, http: 504 },
  not_found: { grpc: 5, http: 404 },
  already_exists: { grpc: 6, http: 409 },
  permission_denied: { grpc: 7, http: 403 },
  resource_exhausted: { grpc: 8, http: 429 },
  failed_precondition: { grpc: 9, http: 400 },
  aborted: { grpc: 10, http: 409 },
  out_of_range: { grpc: 11, http: 400 },
  unimplemented: { grpc: 12, http: 501 },
  internal: { grpc: 13, http: 500 },
  unavailable: { grpc: 14, http: 503 },
  data_loss: { grpc: 15, http: 500 },
  unauthenticated: { grpc: 16, http: 401 },
} as const satisfies Record<string, { readonly grpc: number; readonly http: number }>;

/** Named as in Connect. */
export type RpcCode = keyof typeof statusCodes;

const codesByNumber = new Map<number, RpcCode>(
  (Object.keys(statusCodes) as RpcCode[]).map((code) => [statusCodes[code].grpc, code]),
);

/** The code with this gRPC number; a number outside the set is `unknown`, as in clients. */
export function rpcCodeFrom(grpcNumber: number): RpcCode {
  return codesByNumber.get(grpcNumber) ?? 'unknown';
}
