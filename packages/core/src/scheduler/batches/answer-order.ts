import type { BatchId } from '../../events.ts';
import type { ActionList } from '../action-list.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/**
 * Delivers the answers of a model in order of arrival, where its policy asks for that. An answer waits here until every
 * earlier request of the model is answered or refused. Refusals wait for nothing.
 */
export class AnswerOrder {
  #earliest: RequestEntry | undefined = undefined;
  #latest: RequestEntry | undefined = undefined;

  get isEmpty(): boolean {
    return this.#earliest === undefined;
  }

  /** Call it when the request arrives. */
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

  /** Delivers answers that no earlier request holds up; `settle` is called for each request before. */
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
