/** The parts of a server in the order in which they started. They stop in reverse, also when a later one fails to start. */

/** A part that has something to stop. */
export interface Component {
  /** Takes nothing new, and resolves when nothing is in progress any more. */
  drain?(): Promise<void> | void;
  /** Ends it at once, whether it has been drained, is being drained, or neither. */
  close?(): Promise<void> | void;
}

export class Components {
  readonly #started: Component[] = [];
  #closed: Promise<void> | undefined;

  /** Closes what `start` has added when it rejects, and rejects with the same reason. */
  static async start<Started>(start: (components: Components) => Promise<Started>): Promise<Started> {
    const components = new Components();
    try {
      return await start(components);
    } catch (error) {
      // Why the start failed is what an operator can act on; a part that cannot be closed is often a consequence.
      await components.close().catch(() => {});
      throw error;
    }
  }

  /** To be called as soon as a part has started: those added before it are closed after it. */
  add(component: Component): void {
    this.#started.push(component);
  }

  async drain(): Promise<void> {
    for (const component of this.#lastFirst()) {
      const drained = component.drain?.();
      // Steps that take no time follow each other at once: whoever calls right after has begun to be refused.
      if (drained !== undefined) await drained;
    }
  }

  /** May be called at any time, and more than once. A part that cannot be closed does not keep the others open. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const failures: unknown[] = [];
    for (const component of this.#lastFirst()) {
      try {
        await component.close?.();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts could not be closed`);
    if (failures.length === 1) throw failures[0];
  }

  #lastFirst(): readonly Component[] {
    return this.#started.toReversed();
  }
}
