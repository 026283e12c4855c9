/** What an attack is: one way to hurt the server, written down so that it stays harmless. */
import type { ModelRepository } from '@millrace/worker/testing';
import type { Target } from './target.ts';

export interface Attack {
  /** The name of its file, and of `--only`. */
  readonly name: string;
  /** What the attacker does and what it did to the server before there was a defence, in one sentence. */
  readonly row: string;
  /**
   * What must become of the attacker: `refused` by name or disconnected at least once, or `harmless`, where what it does is
   * allowed and must only not harm anybody.
   */
  readonly expected: 'refused' | 'harmless';
  /** Further arguments of the server; attacks with equal ones share a server. */
  readonly serve?: readonly string[];
  /** Whether the server speaks TLS; certificates are made for it. */
  readonly isOverTls?: boolean;
  /** Seconds it needs at least to have its effect. */
  readonly secondsMin?: number;
  /** Connections that must be as the attack wants them, by `target.nowPlaced`, before bystanders are measured; times the pressure.
   * Absent: from its first connection on. */
  readonly placedMin?: number;
  /** Most memory of the router for each byte of its bodies, beside a fixed allowance: independent of how fast the machine is. */
  readonly memoryPerBodyByteMax?: number;
  /** Most descriptors the server may open, where the attack is about them. */
  readonly descriptorsMax?: number;
  /** Also run from a bystander's own address in the short form; the long one does so for all. */
  readonly isSharedInShort?: boolean;
  /** Not run by the random attacker: it judges by what a single server does once. */
  readonly isAlone?: boolean;
  /** Whether it tries a list of things once, and must come to its end to be judged. */
  readonly isFinite?: boolean;
  /** Adds the models it needs beyond the common ones. */
  prepare?(models: ModelRepository): void;
  /** Attacks until `target.isOver`, or to its end where it is finite. `pressure` scales how many connections or requests: 1 is what the row says. */
  run(target: Target, pressure: number): Promise<void>;
}
