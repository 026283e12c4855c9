import type { BatchId } from '../../events.ts';
import type { ActionList } from '../action-list.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/**
 * The order in which answers of a model leave, where its policy asks for one: that of arrival. An answer waits here until
 * every earlier request of the model has its own, or is refused. Refusals wait for nobody.
 */
export class AnswerOrder {
  #earliest: RequestEntry | undefined = undefined;
  #latest: RequestEntry | undefined = undefined;

  get isEmpty(): boolean {
    return this.#earliest === undefined;
  }

  /** To be called at its arrival. */
  append(entry: RequestEntry): void {
    entry.earlier = this.#latest;
    if (this.#latest === undefined) this.#earliest = entry;
    else this.#latest.later = entry;
    this.#latest = entry;
  }

  has(entry: RequestEntry): boolean {
    return entry.earlier !== undefined || this.#earliest === entry;
  }

  remove(entry: RequestEntry): void {
    const { earlier, later } = entry;
    if (earlier === undefined) this.#earliest = later;
    else earlier.later = later;
    if (later === undefined) this.#latest = earlier;
    else later.earlier = earlier;
    entry.earlier = undefined;
    entry.later = undefined;
  }

  /** Delivers what nothing earlier holds up; `settle` is told of each request before. */
  flush(actions: ActionList, settle: (entry: RequestEntry) => void): void {
    let batch: BatchId = 0;
    let requests: number[] = [];
    for (let entry = this.#earliest; entry !== undefined && entry.answeredIn !== 0; entry = this.#earliest) {
      if (entry.answeredIn !== batch) {
        requests = [];
        batch = entry.answeredIn;
        actions.add({ kind: 'deliver', batch, requests });
      }
      requests.push(entry.request);
      this.remove(entry);
      settle(entry);
    }
  }
}
