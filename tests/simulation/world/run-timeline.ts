/** Runs a world to its end: one event after the other, each with all that promises do because of it. */
import type { SimulatedWorld } from './simulated-world.ts';

/** A world that has not ended after this many steps never will. */
const stepsMax = 50_000;

/**
 * Returns why it was broken off; undefined: nothing is left to happen. The shell leaves promises behind that nobody waits
 * for, so one that is rejected is a failure of the world.
 */
export async function runTimeline(world: SimulatedWorld, start: () => Promise<void>): Promise<Error | undefined> {
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => world.judge(() => rethrow(reason)));
  // Refusals are errors, and nobody asks where they come from.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    void start();
    await microtasks();
    for (let steps = 0; world.timeline.step(); steps++) {
      await microtasks();
      if (world.failure !== undefined) return world.failure;
      if (steps > stepsMax) return new Error(`the world is not at rest after ${stepsMax} steps`);
    }
    return world.failure;
  } catch (error) {
    return world.failure ?? (error instanceof Error ? error : new Error(String(error)));
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
}

/** Resolves when no promise callback is left: the event loop goes on only then. */
function microtasks(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function rethrow(reason: unknown): never {
  throw reason;
}
