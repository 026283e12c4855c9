import type { CallMachine } from './call-machine.ts';

/** Sends what an iterable yields, no faster than the caller reads; the end of the call ends the iterable. */
export async function pump(call: CallMachine, messages: AsyncIterable<unknown>): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  let isDone = false;
  try {
    while (!call.isEnded) {
      const next = await iterator.next();
      if (next.done === true) {
        isDone = true;
        return;
      }
      if (!call.send(next.value)) await call.whenRoom();
    }
  } catch (error) {
    isDone = true;
    throw error;
  } finally {
    if (!isDone) await iterator.return?.();
  }
}
