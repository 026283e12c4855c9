/** The services of the compatibility contracts, which stand on durable streams and the data plane as every edge does. */
import type { Catalogue } from '../../../catalogue/catalogue.ts';
import type { Clock } from '../../../data-plane/clock.ts';
import type { DataPlane } from '../../../data-plane/infer.ts';
import type { StreamGateway } from '../../../streams/stream-gateway.ts';
import type { CallerRule } from '../../caller.ts';
import type { SliceQueue } from '../../slices/slice-queue.ts';
import type { AddedService } from '../added-service.ts';
import { grpcDefaults } from '../config.ts';
import { createErrorEncoder } from '../encode-error.ts';
import { DefaultContext } from './call-settings.ts';
import type { ContractParts } from './contract-parts.ts';
import { RealtimeService } from './realtime-service.ts';
import { TextStreamService } from './text-stream-service.ts';

export interface ContractServicesOptions extends Pick<ContractParts, 'gateway' | 'viewOf'> {
  readonly gateway: StreamGateway;
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  readonly clock: Pick<Clock, 'now'>;
  /** For calls that name none; empty: there is none. */
  readonly defaultContext: string;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

export function contractServices(options: ContractServicesOptions): readonly AddedService[] {
  const { callers, defaultContext, onError, ...rest } = options;
  const parts = {
    ...rest,
    defaultContext: new DefaultContext(defaultContext),
    callerOf: ({ metadata, peer }: Parameters<ContractParts['callerOf']>[0]) => ({
      caller: callers.callerOf(metadata, peer),
      principal: '',
    }),
    errorFrom: createErrorEncoder({ retryAfterSeconds: grpcDefaults.retryAfterSeconds, onError }),
  };
  return [new TextStreamService(parts), new RealtimeService(parts)];
}
