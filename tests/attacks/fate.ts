/** The outcome for the attacker: answers, refusals by name, disconnects. */
export interface FateReport {
  readonly opened: number;
  readonly disconnected: number;
  /** Connections that it ended itself. */
  readonly hungUp: number;
  readonly answered: number;
  /** Of bodies that it sent, where the attack is about what each byte costs. */
  readonly bodyBytes: number;
  readonly refusals: Readonly<Record<string, number>>;
  /** Harm that the attacker achieved: each entry fails the attack. */
  readonly harms: readonly string[];
}

/** Most refusal names that are counted separately; a server that echoes input could produce any number of them. */
const namesMax = 20;
const harmsMax = 40;

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
