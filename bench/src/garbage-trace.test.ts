import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { GarbageTrace } from './garbage-trace.ts';

const lines = `[77:0x1] 900 ms: Scavenge 4.9 (5.3) -> 4.2 (6.3) MB, 0.8 / 0.0 ms  (average mu = 1.000, current mu = 1.000) allocation failure;
[77:0x1] 950 ms: Mark-Compact 8.1 (9.0) -> 7.7 (10.2) MB, 2.81 / 0.00 ms  (+ 0.2 ms in 5 steps) (average mu = 0.9, current mu = 0.9) finalize incremental marking via stack guard; GC in old space requested
{"level":"info","message":"Scavenge"}
[78:0x1] 960 ms: Mark-Compact 8.1 (9.0) -> 7.7 (10.2) MB, 2.81 / 0.00 ms (average mu = 0.9, current mu = 0.9) testing; GC
[77:0x1] 990 ms: Mark-Compact (reduce) 8.1 (9.0) -> 7.7 (10.2) MB, 2.81 / 0.00 ms  (average mu = 0.9, current mu = 0.9) external memory pressure; GC
`;

test('collections of one process are counted by kind and reason', () => {
  const output = new PassThrough();
  const trace = new GarbageTrace(output, 77);
  output.write(lines.slice(0, 300));
  output.write(lines.slice(300));
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    expect(trace.counts()).toEqual({ scavenges: 1, fullCollections: 2, forcedByExternalMemory: 1 });
  });
});
