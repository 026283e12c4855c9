/** Budget: an observation or a count well under 100 ns, everything an answered request costs under 500 ns. */
import { bench, describe } from 'vitest';
import { latencyBucketsSeconds } from './latency-buckets.ts';
import { MetricsObserver } from './metrics-observer.ts';
import { MetricsRegistry } from './registry.ts';
import { Counter, Histogram } from './series.ts';

const callsPerSample = 1000;
const values = Float64Array.from(
  { length: 1024 },
  (_, index) => 0.00005 * Math.exp((((index * 7919) % 1024) / 1024) * 12),
);

describe(`per ${callsPerSample} calls`, () => {
  const counter = new Counter();
  bench('counter.add', () => {
    for (let call = 0; call < callsPerSample; call += 1) counter.add(1);
  });

  const histogram = new Histogram(Float64Array.from(latencyBucketsSeconds));
  bench('histogram.observe', () => {
    for (let call = 0; call < callsPerSample; call += 1) histogram.observe(values[call & 1023] as number);
  });

  const model = new MetricsObserver(new MetricsRegistry(), { version: '0', node: '0' }).observerFor('mlp', '1');
  bench('one request: admitted, dispatched, answered', () => {
    for (let call = 0; call < callsPerSample; call += 1) {
      const ms = (values[call & 1023] as number) * 1000;
      model.requestAdmitted(256);
      model.requestsDispatched(1);
      const timing = { queueMs: ms, computeInputMs: ms, computeInferMs: ms, computeOutputMs: ms, totalMs: ms };
      model.requestAnswered(timing, 40);
    }
  });

  bench('one refusal', () => {
    for (let call = 0; call < callsPerSample; call += 1) model.requestRefused('model-full');
  });
});
