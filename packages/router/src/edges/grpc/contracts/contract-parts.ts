/** What the services of the compatibility contracts are made of. */

import { InferenceError } from '@millrace/protocol';
import type { ModelView } from '../../../model/model-view.ts';
import type { StreamCaller, StreamGateway } from '../../../streams/stream-gateway.ts';
import type { SliceQueue } from '../../slices/slice-queue.ts';
import type { CallFacts } from '../call-turns.ts';
import type { DefaultContext } from './call-settings.ts';

export interface ContractParts {
  readonly gateway: StreamGateway;
  readonly slices: SliceQueue;
  readonly defaultContext: DefaultContext;
  readonly callerOf: (call: CallFacts) => StreamCaller;
  /** The view of a version that a stream is pinned to, loaded or not; undefined: nothing is known of it now. */
  readonly viewOf: (model: string, version: string) => ModelView | undefined;
}

/** The view that a stream's messages are read and written with. */
export function mustView({ viewOf }: Pick<ContractParts, 'viewOf'>, model: string, version: string): ModelView {
  const view = viewOf(model, version);
  if (view !== undefined) return view;
  throw new InferenceError(
    'model-not-ready',
    `version ${version} of ${model}, which the stream is pinned to, is not known to this server now; resume later`,
  );
}
