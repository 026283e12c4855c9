/** The end of service: open, then draining while what was admitted finishes, then drained, which is said once. */
export class Drain {
  #state: 'open' | 'draining' | 'drained' = 'open';

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  start(): void {
    if (this.#state === 'open') this.#state = 'draining';
  }

  /** True the first time that a drain finds nothing left. */
  isNowDone(isEmpty: boolean): boolean {
    if (this.#state !== 'draining' || !isEmpty) return false;
    this.#state = 'drained';
    return true;
  }
}
