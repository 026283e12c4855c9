/** An attack: one way to harm the server, kept as a test so that it stays harmless. */
import type { ModelRepository } from '@millrace/worker/testing';
import type { Target } from './target.ts';

export interface Attack {
  /** The name of its file, and of `--only`. */
  readonly name: string;
  /** What the attacker does, and its effect on a server without a defence, in one sentence. */
  readonly row: string;
  /**
   * The expected outcome: the attacker is `refused` by name or disconnected at least once, or `harmless`: what it does is
   * allowed and must not harm anybody.
   */
  readonly expected: 'refused' | 'harmless';
  /** Further arguments of the server; attacks with equal ones share a server. */
  readonly serve?: readonly string[];
  /** Whether the server speaks TLS; certificates are made for it. */
  readonly isOverTls?: boolean;
  /** Seconds it needs at least to have its effect. */
  readonly secondsMin?: number;
  /** Connections that the attack must have established, by `target.nowEstablished`, before bystanders are measured; times the pressure.
   * Absent: from its first connection on. */
  readonly establishedMin?: number;
  /** Most memory of the router for each byte of its bodies, beside a fixed allowance: independent of how fast the machine is. */
  readonly memoryPerBodyByteMax?: number;
  /** Most descriptors the server may open, where the attack is about them. */
  readonly descriptorsMax?: number;
  /**
   * What the harness does to the server a moment into the attack because no attacker can. Callers notice it without an attack
   * as well, so their calm figures are those of the same done to the server beside nobody.
   */
  readonly fault?: (routerPid: number) => void;
  /** Run from a bystander's own address too in the short form; the long form does so for all attacks. */
  readonly isSharedInShort?: boolean;
  /** Not run by the random attacker, because its verdict depends on what one server does once. */
  readonly isAlone?: boolean;
  /** Whether it tries a list of requests once, and must finish it for a verdict. */
  readonly isFinite?: boolean;
  /** Adds the models it needs beyond the common ones. */
  prepare?(models: ModelRepository): void;
  /** Attacks until `target.isOver`, or to its end where it is finite. `pressure` scales how many connections or requests: 1 is what the row says. */
  run(target: Target, pressure: number): Promise<void>;
}
