import { MemoryLedger, resolveMemoryLimits } from '@millrace/core';
import { expect, test } from 'vitest';
import { renderMetrics } from './exposition.ts';
import { startMemoryMetrics } from './memory-metrics.ts';
import { MetricsRegistry } from './registry.ts';

test('a scrape shows the memory that requests hold of each part, and the size of each part', async () => {
  const ledger = new MemoryLedger(resolveMemoryLimits({ bytesMax: 16_000_000, bodyBytesMax: 1_000_000 }));
  const registry = new MetricsRegistry();
  startMemoryMetrics(registry, ledger, { freeBytes: 65_536, lentBytes: 131_072, placedBytes: 602_112 });
  const connection = ledger.connection('a');
  connection.lease({ onMemory: () => {} }).hold(500);
  connection.lease({ onMemory: () => {} }).hold(100_000);
  await registry.collect();
  const text = renderMetrics(registry, 'prometheus');
  expect(text).toContain('millrace_request_memory_bytes{part="small"} 500\n');
  expect(text).toContain('millrace_request_memory_bytes{part="shared"} 100000\n');
  expect(text).toContain('millrace_request_memory_limit_bytes{part="small"} 1000000\n');
  expect(text).toContain('millrace_request_memory_waiting_requests 0\n');
  expect(text).toContain('millrace_body_memory_bytes{state="lent"} 131072\n');
  expect(text).toContain('millrace_body_memory_bytes{state="free"} 65536\n');
  expect(text).toContain('millrace_body_memory_bytes{state="placed"} 602112\n');
});
