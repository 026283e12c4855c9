import type { RequestMetadata, RpcCall } from '@millrace/http';
import { CallerRule } from '../caller.ts';
import type { SliceGenerator, SliceQueue } from '../slices/slice-queue.ts';

/** The parts of a call that are read before its messages. */
export type CallFacts = Pick<RpcCall, 'peer'> & { readonly metadata: Pick<RequestMetadata, 'get' | 'getAll'> };

/** Work for calls that grows with what is served: a slice in each turn of the event loop, callers in rotation. */
export class CallTurns {
  readonly #slices: SliceQueue;
  readonly #callers: CallerRule;

  /** Left out, callers are distinguished by the owners of their connections. */
  constructor(slices: SliceQueue, callers: CallerRule = new CallerRule()) {
    this.#slices = slices;
    this.#callers = callers;
  }

  run<Result>(call: CallFacts & Pick<RpcCall, 'signal'>, work: SliceGenerator<Result>): Promise<Result> {
    const { peer, signal } = call;
    const caller = this.#callers.readsHeaders(peer) ? this.#callers.callerOf(call.metadata, peer) : peer.owner;
    return this.#slices.run(work, caller, signal);
  }
}
