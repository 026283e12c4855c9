/** Bytes of bodies that are copied from one buffer to the next in a turn of the event loop, all bodies together. */
export const copiedBytesPerTurn: number = 4 * 1024 * 1024;

/** Divides what may be copied in a turn: dozens of bodies that grow at once would each take as much as one. */
export class CopyTurns {
  readonly #atTurnEnd: (next: () => void) => void;
  #copiedBytes = 0;
  readonly #endTurn = (): void => {
    this.#copiedBytes = 0;
  };

  constructor(atTurnEnd: (next: () => void) => void = (next) => setImmediate(next)) {
    this.#atTurnEnd = atTurnEnd;
  }

  /** How many of these bytes may be copied now; 0: the others have to wait for a later turn. */
  take(bytes: number): number {
    const taken = Math.min(bytes, copiedBytesPerTurn - this.#copiedBytes);
    if (taken > 0 && this.#copiedBytes === 0) this.#atTurnEnd(this.#endTurn);
    this.#copiedBytes += taken;
    return taken;
  }
}

/** There is one event loop, and all servers of a process share it. */
export const copyTurns: CopyTurns = new CopyTurns();
