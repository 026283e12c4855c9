/** Serialises the changes of one model; those of different models do not wait for each other. */
export class ModelTurns {
  /** By model: the end of the last change. */
  readonly #turns = new Map<string, Promise<unknown>>();

  async inTurn(name: string, change: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.then(change, change);
    this.#turns.set(name, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }
}
