/** The states of a drain: open, then draining while admitted requests finish, then drained, which is reported once. */
export class Drain {
  #state: 'open' | 'draining' | 'drained' = 'open';

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  start(): void {
    if (this.#state === 'open') this.#state = 'draining';
  }

  /** True the first time that a draining scheduler has nothing left. */
  isNowDone(isEmpty: boolean): boolean {
    if (this.#state !== 'draining' || !isEmpty) return false;
    this.#state = 'drained';
    return true;
  }
}
