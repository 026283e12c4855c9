type Environment = Readonly<Record<string, string | undefined>>;

const MiB = 1024 * 1024;

/**
 * For the C library's allocator, where it is GNU's; it reads them once, when a process starts. Buffers of requests and
 * answers are allocated and freed all the time. By default those of more than 128 KiB may come from the system and be
 * returned to it each time, with every page cleared and mapped again; whether they do depends on what was freed before.
 * So buffers up to 4 MiB are always kept in the heap, whose free end is returned when it is larger than 32 MiB: memory of
 * larger bodies, and most of what a burst took, goes back to the system.
 */
const allocatorSettings = {
  MALLOC_MMAP_THRESHOLD_: String(4 * MiB),
  MALLOC_TRIM_THRESHOLD_: String(32 * MiB),
};

/** As many as Node starts unless it is told otherwise. */
const helperThreadsMax = 4;

/**
 * Flags of Node: an idle router collects its garbage, and no more threads compile and collect for it than it has cores beside the
 * one that serves. Each of them would get as much of a core as the thread that everybody waits for.
 */
export function routerFlags(environment: Environment, cores: number): readonly string[] {
  const helperThreads = Math.min(helperThreadsMax, Math.max(1, cores - 1));
  const isChosen = environment.NODE_OPTIONS?.includes('--v8-pool-size') === true;
  return ['--expose-gc', ...(isChosen ? [] : [`--v8-pool-size=${helperThreads}`])];
}

/** The environment of the supervisor and the settings of the allocator, which the operator may override. */
export function routerEnvironment(environment: Environment): Environment {
  return { ...allocatorSettings, ...environment };
}
