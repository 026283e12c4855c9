/** Asks a server by gRPC's health protocol whether it, or one of its models, is serving. */
import { GrpcCall } from './grpc-call.ts';
import type { GrpcCallStatus } from './grpc-status.ts';

export type HealthReply =
  | { readonly state: 'SERVING' | 'NOT_SERVING' | 'UNKNOWN' | 'SERVICE_UNKNOWN' }
  | { readonly state: undefined; readonly status: GrpcCallStatus };

/** Never rejects: a server that does not answer is an answer. */
export function askHealth(url: string, service: string, deadlineMs: number): Promise<HealthReply> {
  return new Promise((resolve) => {
    let state: Extract<HealthReply, { readonly state: string }>['state'] | undefined;
    const call = new GrpcCall(
      url,
      { method: 'grpc.health.v1.Health/Check', deadlineMs },
      {
        onMessage: (message) => {
          state = (JSON.parse(message) as { readonly status?: 'SERVING' }).status ?? 'UNKNOWN';
        },
        onEnd: (status) =>
          resolve(state !== undefined && status.name === 'OK' ? { state } : { state: undefined, status }),
      },
    );
    call.send(JSON.stringify({ service }));
    call.finish();
  });
}
