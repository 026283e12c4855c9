/** An owner's connections may have more to read than one turn of the event loop should take. */
export interface TurnInput {
  readonly owner: string;
  /** What was read and set aside. */
  readonly asideBytes: number;
  /** No more is read until it is released. */
  holdInput(): void;
  /** Passes on what was set aside, and reads on. */
  releaseInput(): void;
}

/** Milliseconds that reading what one owner sent may take in a turn of the event loop, while others send as well. */
export const ownerInputMsPerTurn = 2;
/** What connections of one owner have read and set aside for later turns; a read beyond it is passed on at once. */
export const asideBytesMax: number = 1024 * 1024;
/** For this long after another owner has sent something, owners count as being beside each other. */
const besideMs = 1000;

/** What one owner's input has cost in this turn. */
interface InputUse {
  ms: number;
  /** Of one read, on average. */
  readMs: number;
  readonly held: TurnInput[];
  asideBytes: number;
}

/**
 * Divides each turn of the event loop among the owners whose bytes arrive in it: connections of an owner that has had its
 * time are not read before the next turn, and then only as many as fit. The event loop learns of all sockets with something to
 * read at once, so connections may be read after their owner's time is used up: their bytes are set aside. Nothing is wasted: a turn
 * in which the others have little to do is short. Reads of an owner that is alone are not even timed.
 */
export class InputTurns {
  readonly #nowMs: () => number;
  readonly #atTurnEnd: (next: () => void) => void;
  readonly #uses = new Map<string, InputUse>();
  #latestOwner: string | undefined = undefined;
  #besideUntilMs = 0;
  #readAtMs = 0;
  readonly #endTurn = (): void => this.#beginTurn();

  constructor(
    nowMs: () => number = () => performance.now(),
    atTurnEnd: (next: () => void) => void = (next) => setImmediate(next),
  ) {
    this.#nowMs = nowMs;
    this.#atTurnEnd = atTurnEnd;
  }

  /** After a read, before its bytes are passed on: whether the connection has to keep them until its release. */
  setAside(input: TurnInput, bytes: number): boolean {
    if (this.#besideUntilMs === 0) return false;
    const use = this.#uses.get(input.owner);
    if (use === undefined || use.ms <= ownerInputMsPerTurn || use.asideBytes + bytes > asideBytesMax) return false;
    use.asideBytes += bytes;
    input.holdInput();
    use.held.push(input);
    return true;
  }

  /** Before bytes of a connection are passed on. */
  begin({ owner }: TurnInput): void {
    if (owner !== this.#latestOwner) {
      const now = this.#nowMs();
      if (this.#latestOwner !== undefined) this.#besideUntilMs = now + besideMs;
      this.#latestOwner = owner;
      this.#readAtMs = now;
    } else if (this.#besideUntilMs > 0) {
      this.#readAtMs = this.#nowMs();
      if (this.#readAtMs > this.#besideUntilMs) this.#besideUntilMs = 0;
    }
  }

  /** After it: holds the connection where its owner has used up this turn. */
  end(input: TurnInput): void {
    if (this.#besideUntilMs === 0) return;
    const use = this.#useOf(input.owner);
    this.#count(use);
    // While some of its connections wait, each goes behind them after its read.
    if (use.ms <= ownerInputMsPerTurn && use.held.length === 0) return;
    input.holdInput();
    use.held.push(input);
  }

  /** What a connection has left to do of its last read is done in a later turn, in its place among the reads of its owner. */
  goOnLater(owner: string, goOn: () => void): void {
    const rest: TurnInput = {
      owner,
      asideBytes: 0,
      holdInput: () => {},
      releaseInput: () => {
        this.begin(rest);
        goOn();
        if (this.#besideUntilMs > 0) this.#count(this.#useOf(owner));
      },
    };
    this.#useOf(owner).held.push(rest);
  }

  #count(use: InputUse): void {
    const spent = this.#nowMs() - this.#readAtMs;
    use.ms += spent;
    use.readMs = use.readMs === 0 ? spent : use.readMs + (spent - use.readMs) / 8;
  }

  #useOf(owner: string): InputUse {
    const known = this.#uses.get(owner);
    if (known !== undefined) return known;
    if (this.#uses.size === 0) this.#atTurnEnd(this.#endTurn);
    const use: InputUse = { ms: 0, readMs: 0, held: [], asideBytes: 0 };
    this.#uses.set(owner, use);
    return use;
  }

  #beginTurn(): void {
    for (const [owner, use] of this.#uses) {
      use.ms = 0;
      const fitting = Math.max(1, Math.floor(ownerInputMsPerTurn / Math.max(use.readMs, 0.001)));
      // What was set aside is passed on by its release, which takes time of this turn.
      for (let left = Math.min(fitting, use.held.length); left > 0 && use.ms <= ownerInputMsPerTurn; left--) {
        const input = use.held.shift() as TurnInput;
        use.asideBytes -= input.asideBytes;
        input.releaseInput();
      }
      if (use.held.length === 0 && use.ms === 0) this.#uses.delete(owner);
    }
    if (this.#uses.size > 0) this.#atTurnEnd(this.#endTurn);
  }
}

/** There is one event loop, and all servers of a process share it. */
export const inputTurns: InputTurns = new InputTurns();
