import type { CallerQueue } from './caller-ring.ts';

const bucketsAtFirst = 16;

/**
 * Finds the queue of a caller by name. Callers come and go with their requests, and a Map with such keys is rebuilt all
 * the time (see RequestTable); buckets linked through the queues leave no garbage.
 */
export class CallerTable {
  count = 0;
  #buckets: (CallerQueue | undefined)[] = new Array(bucketsAtFirst).fill(undefined);

  take(caller: string): CallerQueue | undefined {
    let queue = this.#buckets[this.#bucketOf(caller)];
    while (queue !== undefined && queue.caller !== caller) queue = queue.nextInBucket;
    return queue;
  }

  add(queue: CallerQueue): void {
    this.count += 1;
    if (this.count > 2 * this.#buckets.length) this.#grow();
    this.#put(queue);
  }

  remove(queue: CallerQueue): void {
    const bucket = this.#bucketOf(queue.caller);
    let before: CallerQueue | undefined;
    let found = this.#buckets[bucket];
    while (found !== queue) {
      if (found === undefined) return;
      before = found;
      found = found.nextInBucket;
    }
    if (before === undefined) this.#buckets[bucket] = queue.nextInBucket;
    else before.nextInBucket = queue.nextInBucket;
    queue.nextInBucket = undefined;
    this.count -= 1;
  }

  #put(queue: CallerQueue): void {
    const bucket = this.#bucketOf(queue.caller);
    queue.nextInBucket = this.#buckets[bucket];
    this.#buckets[bucket] = queue;
  }

  #grow(): void {
    const old = this.#buckets;
    this.#buckets = new Array(2 * old.length).fill(undefined);
    for (const first of old) {
      for (let queue = first; queue !== undefined; ) {
        const next: CallerQueue | undefined = queue.nextInBucket;
        this.#put(queue);
        queue = next;
      }
    }
  }

  #bucketOf(caller: string): number {
    let hash = caller.length;
    for (let index = 0; index < caller.length; index++) hash = (Math.imul(hash, 31) + caller.charCodeAt(index)) | 0;
    return (hash ^ (hash >>> 15)) & (this.#buckets.length - 1);
  }
}
