import type { RpcError } from '@millrace/http';
import type { Catalogue } from '../../../catalogue/catalogue.ts';
import type { Clock } from '../../../data-plane/clock.ts';
import type { DataPlane } from '../../../data-plane/infer.ts';
import type { ContractParts } from './contract-parts.ts';

/** What the service of `realtime.inference` is made of. */
export interface RealtimeParts extends ContractParts {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly clock: Pick<Clock, 'now'>;
  readonly errorFrom: (error: unknown) => RpcError;
}
