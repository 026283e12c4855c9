/** The parts of a server in the order in which they started. They stop in reverse, also when a later one fails to start. */

/** A part that has to be stopped. */
export interface Component {
  /** Accepts nothing new, and resolves when nothing is in progress. */
  drain?(): Promise<void> | void;
  /** Closes it at once, whether or not it has been drained. */
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
      // The operator can act on the reason of the failed start; a part that cannot be closed is often a consequence of it.
      await components.close().catch(() => {});
      throw error;
    }
  }

  /** Must be called as soon as a part has started: parts added before it are closed after it. */
  add(component: Component): void {
    this.#started.push(component);
  }

  async drain(): Promise<void> {
    for (const component of this.#lastFirst()) {
      const drained = component.drain?.();
      // Synchronous steps are not separated by an `await`: calls made right after `drain()` are already refused.
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
