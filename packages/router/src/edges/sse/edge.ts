import type { Clock } from '../../data-plane/clock.ts';
import type { StreamGateway } from '../../streams/stream-gateway.ts';
import type { CallerRule } from '../caller.ts';
import type { Route } from '../routing/route.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import { KeepAlives } from './keep-alives.ts';
import { streamRoutes } from './routes.ts';

export interface SseEdgeOptions {
  readonly gateway: StreamGateway;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  readonly clock: Pick<Clock, 'now' | 'alarm'>;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

/** Server-sent events for durable streams, as routes for a REST edge. */
export function createSseEdge({ clock, ...parts }: SseEdgeOptions): readonly Route[] {
  return streamRoutes({ ...parts, keepAlives: new KeepAlives(clock) });
}
