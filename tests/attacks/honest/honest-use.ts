/** A large but legitimate use of the server, which no limit may refuse. */
import type { BystanderPorts } from '../bystander/outcome.ts';

export interface HonestUse {
  readonly name: string;
  /** Resolves with what went wrong; empty when nothing did. `isLong` takes all the time it needs. */
  run(ports: BystanderPorts, address: string, isLong: boolean): Promise<string>;
}
