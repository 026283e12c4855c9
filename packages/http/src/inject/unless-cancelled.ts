import type { CancelSignal } from '@millrace/protocol';

/** The promise's outcome, or a rejection as soon as the signal fires. Leaves no listener behind. */
export function unlessCancelled<T>(promise: Promise<T>, signal: CancelSignal, error: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = signal.onCancel(() => reject(error()));
    promise.then(
      (value) => {
        stop();
        resolve(value);
      },
      (reason: unknown) => {
        stop();
        reject(reason);
      },
    );
  });
}
