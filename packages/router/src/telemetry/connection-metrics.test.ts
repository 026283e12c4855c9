import { expect, test } from 'vitest';
import { startConnectionMetrics } from './connection-metrics.ts';
import { renderMetrics } from './exposition.ts';
import { MetricsRegistry } from './registry.ts';

test('connections, handshakes, refusals by limit and evictions are shown, starting at 0', async () => {
  const registry = new MetricsRegistry();
  const none = { connectionsMax: 0, descriptors: 0, handshakesMax: 0, handshakesPerAddressMax: 0 };
  const refused = { ...none, connectionsPerAddressMax: 7 };
  startConnectionMetrics(registry, { connections: 12, handshakes: 3, refused, evicted: 5 });
  await registry.collect();
  const text = renderMetrics(registry, 'prometheus');
  expect(text).toContain('millrace_connections 12\n');
  expect(text).toContain('millrace_tls_handshakes 3\n');
  expect(text).toContain('millrace_connections_refused_total{limit="connectionsPerAddressMax"} 7\n');
  expect(text).toContain('millrace_connections_refused_total{limit="descriptors"} 0\n');
  expect(text).toContain('millrace_connections_evicted_total 5\n');
});
