/**
 * Why a request is no longer wanted, and who listens for that. Creating an AbortSignal takes 4 µs on Node 20; this
 * costs nothing until somebody listens, so every request can carry one.
 */
export type CancelReason = 'cancelled' | 'deadline-exceeded';

type CancelListener = (reason: CancelReason) => void;

/** The listening side: what handlers, data plane and queue hold. */
export interface CancelSignal {
  readonly reason: CancelReason | undefined;
  /** Calls back once, immediately when already cancelled. Returns a function that stops listening. */
  onCancel(listener: CancelListener): () => void;
}

/** The cancelling side: what the socket, a deadline or an embedding program holds. */
export class Cancellation implements CancelSignal {
  #reason: CancelReason | undefined;
  /** A function alone is one listener, as mostly: a set takes five times the memory. */
  #listeners: CancelListener | Set<CancelListener> | undefined;

  get reason(): CancelReason | undefined {
    return this.#reason;
  }

  cancel(reason: CancelReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (typeof listeners === 'function') listeners(reason);
    else if (listeners !== undefined) for (const listener of listeners) listener(reason);
  }

  onCancel(listener: CancelListener): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason);
      return doNothing;
    }
    const listeners = this.#listeners;
    if (listeners === undefined) this.#listeners = listener;
    else if (typeof listeners === 'function') this.#listeners = new Set([listeners, listener]);
    else listeners.add(listener);
    return () => this.#forget(listener);
  }

  #forget(listener: CancelListener): void {
    const listeners = this.#listeners;
    if (typeof listeners === 'object') listeners.delete(listener);
    else if (listeners === listener) this.#listeners = undefined;
  }
}

function doNothing(): void {}

/** A signal that never fires, for callers that cannot disconnect. */
export const neverCancelled: CancelSignal = { reason: undefined, onCancel: () => doNothing };

/**
 * Lets a standard AbortSignal cancel, or an `AbortSignal.timeout` set a deadline. It listens only while it is
 * listened to, so that one signal can serve every request of a program.
 */
export function cancellationFrom(signal: AbortSignal): CancelSignal {
  return {
    get reason() {
      return signal.aborted ? reasonOf(signal) : undefined;
    },
    onCancel(listener) {
      const onAbort = (): void => listener(reasonOf(signal));
      if (signal.aborted) {
        onAbort();
        return doNothing;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      return () => signal.removeEventListener('abort', onAbort);
    },
  };
}

function reasonOf({ reason }: AbortSignal): CancelReason {
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'deadline-exceeded' : 'cancelled';
}
