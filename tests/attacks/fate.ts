/** How the attacker fared: what it was answered, by which names it was refused, how often it was cut off. */
export interface FateReport {
  readonly opened: number;
  readonly disconnected: number;
  /** Connections that it ended itself. */
  readonly hungUp: number;
  readonly answered: number;
  /** Of bodies that it sent, where the attack is about what each byte costs. */
  readonly bodyBytes: number;
  readonly refusals: Readonly<Record<string, number>>;
  /** What it achieved that nobody may: each fails the attack. */
  readonly harms: readonly string[];
}

/** Refusal names that are kept apart; a server that echoes input could make up any number of them. */
const namesMax = 20;
const harmsMax = 10;

export class Fate {
  opened = 0;
  disconnected = 0;
  hungUp = 0;
  answered = 0;
  bodyBytes = 0;
  readonly #refusals = new Map<string, number>();
  readonly #harms = new Set<string>();

  refused(name: string): void {
    const known = this.#refusals.has(name) || this.#refusals.size < namesMax ? name : 'others';
    this.#refusals.set(known, (this.#refusals.get(known) ?? 0) + 1);
  }

  harm(what: string): void {
    if (this.#harms.size < harmsMax) this.#harms.add(what);
  }

  report(): FateReport {
    return {
      opened: this.opened,
      disconnected: this.disconnected,
      hungUp: this.hungUp,
      answered: this.answered,
      bodyBytes: this.bodyBytes,
      refusals: Object.fromEntries(this.#refusals),
      harms: [...this.#harms],
    };
  }
}

/** In one line. */
export function fateText({ opened, disconnected, hungUp, answered, refusals }: FateReport): string {
  const names = Object.entries(refusals)
    .sort(([, first], [, second]) => second - first)
    .map(([name, count]) => `${count} ${name}`);
  const waiting = Math.max(0, opened - disconnected - hungUp);
  return `${opened} connections, ${disconnected} cut off, ${waiting} open; ${answered} answered; refused: ${names.join(', ') || 'none'}`;
}
