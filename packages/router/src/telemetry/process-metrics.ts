/** CPU, memory, file descriptors and event loop delay of the router process, read at each scrape. */
import { readdir, readFile } from 'node:fs/promises';
import { LoopDelaySampler } from './loop-delay.ts';
import { processMetrics, registerAll } from './metric-table.ts';
import type { MetricsRegistry } from './registry.ts';

export interface ProcessMetrics {
  /** Stops the sampling of the event loop. */
  stop(): void;
}

/** What the polling of the event loop has done so far. */
export interface PollingView {
  readonly polls: number;
  readonly pauses: number;
}

export interface ProcessView {
  /** When the process started, in milliseconds since the Unix epoch. */
  readonly startedAtMs: number;
  /** Routers that the supervisor has started before this one. */
  readonly restarts: number;
  /** Undefined: the event loop is not polled. */
  readonly polling: PollingView | undefined;
}

export function startProcessMetrics(registry: MetricsRegistry, view: ProcessView): ProcessMetrics {
  const families = registerAll(registry, processMetrics);
  const loopDelay = new LoopDelaySampler(families.loopDelaySeconds.bind());
  families.startSeconds.bind().set(view.startedAtMs / 1000);
  families.restarts.bind().value = view.restarts;

  const stopCollecting = registry.onCollect(async () => {
    const cpu = process.cpuUsage();
    families.cpuSeconds.bind().value = (cpu.user + cpu.system) / 1e6;
    families.polls.bind().value = view.polling?.polls ?? 0;
    families.pollingPauses.bind().value = view.polling?.pauses ?? 0;
    const memory = process.memoryUsage();
    families.residentBytes.bind().set(memory.rss);
    families.heapUsedBytes.bind().set(memory.heapUsed);
    families.heapTotalBytes.bind().set(memory.heapTotal);
    families.externalBytes.bind().set(memory.external);
    const delay = loopDelay.take();
    families.loopLagMean.bind().set(delay.meanSeconds);
    families.loopLagP99.bind().set(delay.p99Seconds);
    families.loopLagMax.bind().set(delay.maxSeconds);

    const files = await openFileCounts();
    if (files !== undefined) {
      families.openFiles.bind().set(files.open);
      families.openFilesMax.bind().set(files.max);
    }
  });

  return {
    stop() {
      stopCollecting();
      loopDelay.stop();
    },
  };
}

/** Undefined where there is no /proc. */
async function openFileCounts(): Promise<{ open: number; max: number } | undefined> {
  try {
    const [names, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'utf8')]);
    const max = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
    // Reading the folder opened one more descriptor.
    return { open: names.length - 1, max: max === undefined || max === 'unlimited' ? Infinity : Number(max) };
  } catch {
    return undefined;
  }
}
