/** The memory that requests hold, read at each scrape. */
import type { MemoryLedger } from '@millrace/core';
import type { BodyPool } from '@millrace/http';
import { memoryMetrics, registerAll } from './metric-table.ts';
import type { MetricsRegistry } from './registry.ts';

export function startMemoryMetrics(
  registry: MetricsRegistry,
  ledger: MemoryLedger,
  bodies: Pick<BodyPool, 'freeBytes' | 'lentBytes' | 'placedBytes'>,
): void {
  const families = registerAll(registry, memoryMetrics);
  const { sharedBytes, smallBytes, completionBytes } = ledger.limits;
  families.limitBytes.bind('shared').set(sharedBytes);
  families.limitBytes.bind('small').set(smallBytes);
  families.limitBytes.bind('completion').set(completionBytes);
  registry.onCollect(() => {
    families.heldBytes.bind('shared').set(ledger.sharedUsed);
    families.heldBytes.bind('small').set(ledger.smallUsed);
    families.heldBytes.bind('completion').set(ledger.completionUsed);
    families.waitingRequests.bind().set(ledger.waitingCount);
    families.bodyBytes.bind('lent').set(bodies.lentBytes);
    families.bodyBytes.bind('free').set(bodies.freeBytes);
    families.bodyBytes.bind('placed').set(bodies.placedBytes);
  });
}
