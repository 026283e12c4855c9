/** The metrics of connections, read at each scrape. */
import { type ConnectionLimiter, connectionRefusals } from '@millrace/http';
import { connectionMetrics, registerAll } from './metric-table.ts';
import type { MetricsRegistry } from './registry.ts';

export type ConnectionView = Pick<ConnectionLimiter, 'connections' | 'handshakes' | 'refused' | 'evicted'>;

export function startConnectionMetrics(registry: MetricsRegistry, view: ConnectionView): void {
  const families = registerAll(registry, connectionMetrics);
  registry.onCollect(() => {
    families.connections.bind().set(view.connections);
    families.handshakes.bind().set(view.handshakes);
    families.evicted.bind().value = view.evicted;
    for (const limit of connectionRefusals) families.refused.bind(limit).value = view.refused[limit];
  });
}
