/** What a machine has decided and its caller has not taken yet. */
import type { StreamMachineAction } from './stream-machine-events.ts';

const none: readonly never[] = Object.freeze([]);

export class MachineActions<Payload> {
  /** Undefined while there are none: most streams are idle. */
  #decided: StreamMachineAction<Payload>[] | undefined;

  push(action: StreamMachineAction<Payload>): void {
    if (this.#decided === undefined) this.#decided = [action];
    else this.#decided.push(action);
  }

  /** Those since the last call, in order. */
  take(): readonly StreamMachineAction<Payload>[] {
    const decided = this.#decided;
    this.#decided = undefined;
    return decided ?? none;
  }
}
