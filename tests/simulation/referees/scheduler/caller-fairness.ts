import { type LedgerModel, type LedgerRequest, levelOf, requestRowsOf } from './ledger.ts';

/**
 * The bound on unfairness between callers. Take two callers of one priority level of one model, and a span in which
 * both always have something waiting there, more rows wait at that level than fit one batch, and all that waits there
 * is of one group. In such a span the rows dispatched of the one and of the other never differ by more than
 *
 *   2 x rowsMax + 3 x quantum
 *
 * where the quantum is one row (batches in the simulation are small), and rowsMax is that of the largest request where a
 * policy has shrunk below what was let in before. The number of turns that they had differs by one at
 * most, each worth a quantum; and each may begin and end the span with up to rowsMax - 1 + quantum rows saved up.
 */
export class CallerFairness {
  /** By model, level and pair: the rows by which the first is ahead of the second. */
  readonly #leads = new Map<LedgerModel, Map<string, Lead>>();

  /** To be called before a batch is taken from what waits. Says what is wrong with it; undefined when nothing is. */
  takeFault(model: LedgerModel, batch: readonly LedgerRequest[]): string | undefined {
    const leads = this.#leads.get(model) ?? new Map<string, Lead>();
    this.#leads.set(model, leads);
    for (let level = 1; level <= model.policy.queues.length; level++) {
      const waiting = model.waiting.filter((request) => levelOf(request) === level);
      const callers = isContended(model, waiting) ? callersOf(waiting) : [];
      for (const first of callers) {
        for (const second of callers) {
          if (first >= second) continue;
          const key = `${level} ${first} ${second}`;
          const lead = leads.get(key) ?? { level, callers: [first, second], rows: 0, rowsMax: 0 };
          leads.set(key, lead);
          lead.rowsMax = Math.max(lead.rowsMax, model.policy.rowsMax, ...waiting.map(({ arrived }) => arrived.rows));
          const served = (caller: string) =>
            requestRowsOf(batch.filter((request) => levelOf(request) === level && request.arrived.caller === caller));
          lead.rows += served(first) - served(second);
          if (Math.abs(lead.rows) <= 2 * lead.rowsMax + 3 * quantum) continue;
          return `at level ${level} of ${model.key} ${first} is ${lead.rows} rows ahead of ${second}`;
        }
      }
    }
    return undefined;
  }

  /** To be called after whatever changed what waits: spans end. */
  review(model: LedgerModel): void {
    const leads = this.#leads.get(model);
    if (leads === undefined) return;
    for (const [key, { level, callers }] of leads) {
      const waiting = model.waiting.filter((request) => levelOf(request) === level);
      const present = callersOf(waiting);
      const isGoingOn = isContended(model, waiting) && callers.every((caller) => present.includes(caller));
      if (!isGoingOn) leads.delete(key);
    }
  }

  /** Its rules changed, or it is gone. */
  forget(model: LedgerModel): void {
    this.#leads.delete(model);
  }
}

interface Lead {
  readonly level: number;
  readonly callers: readonly [string, string];
  rows: number;
  rowsMax: number;
}

const quantum = 1;

function isContended(model: LedgerModel, waiting: readonly LedgerRequest[]): boolean {
  const [head] = waiting;
  return (
    requestRowsOf(waiting) > model.policy.rowsMax &&
    waiting.every(({ arrived, isAlone }) => arrived.group === head?.arrived.group && !isAlone)
  );
}

/** Delayed requests are no part of the turns. */
function callersOf(waiting: readonly LedgerRequest[]): string[] {
  return [...new Set(waiting.filter(({ isDelayed }) => !isDelayed).map(({ arrived }) => arrived.caller))];
}
