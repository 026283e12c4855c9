/** A large but honest use of the server, that no limit may forbid. */
import type { BystanderPorts } from '../bystander/outcome.ts';

export interface HonestUse {
  readonly name: string;
  /** Resolves with what went wrong; empty when nothing did. `isLong` takes all the time it needs. */
  run(place: BystanderPorts, address: string, isLong: boolean): Promise<string>;
}
