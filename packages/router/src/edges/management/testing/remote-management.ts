/** Management as a remote caller sees it: every answer is a promise, and refusals have a code and a message. */
import type { Management } from '../../../management/management.ts';

export type RemoteManagement = {
  readonly [Name in keyof Management]: (
    ...parameters: Parameters<Management[Name]>
  ) => Promise<Awaited<ReturnType<Management[Name]>>>;
};

/** An `InferenceError` as an interface encodes it. */
export class RemoteRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The same without an interface in between. */
export function directly(management: Management): RemoteManagement {
  return {
    index: () => management.index(),
    load: (...parameters) => management.load(...parameters),
    unload: (...parameters) => management.unload(...parameters),
    setPinned: (...parameters) => management.setPinned(...parameters),
    contexts: async () => management.contexts(),
    instances: async () => management.instances(),
    queues: async () => management.queues(),
    closeBreaker: async (worker) => management.closeBreaker(worker),
    flushCache: async (model) => management.flushCache(model),
    streams: (query) => management.streams(query),
    stream: (id) => management.stream(id),
    cancelStream: (...parameters) => management.cancelStream(...parameters),
    traffic: async (model) => management.traffic(model),
    changeTraffic: (...parameters) => management.changeTraffic(...parameters),
  };
}
