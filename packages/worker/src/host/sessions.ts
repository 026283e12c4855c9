/** Where a worker host gets the sessions of its models from. */
import type { LoadSpec } from '@millrace/protocol';
import { type Engine, type Session, UnloadableModel } from '../engine.ts';
import { runWarmUp } from '../warm-up/run-warm-up.ts';

export interface SessionSource {
  /** A session that is warmed up. Its `unload` is called once. Rejects with an error whose message says what the operator can do. */
  load(spec: LoadSpec): Promise<Session>;
}

/** Loads a session for each load, by the engine that the load names. */
export class EngineSessions implements SessionSource {
  readonly #engines: readonly Engine[];

  constructor(engines: readonly Engine[]) {
    this.#engines = engines;
  }

  async load(spec: LoadSpec): Promise<Session> {
    const engine = this.#engines.find(({ name }) => name === spec.engine);
    if (engine === undefined) throw new Error(`this worker has no engine "${spec.engine}"`);
    const session = await engine.load(spec);
    try {
      if (spec.isDecoupled === true && session.begin === undefined) {
        throw new UnloadableModel(`the engine "${spec.engine}" gives one answer to a request, not several`);
      }
      await runWarmUp(session, spec);
      return session;
    } catch (error) {
      await session.unload();
      throw error;
    }
  }
}
