import { expect, test } from 'vitest';
import { renderMetrics } from './exposition.ts';
import { MetricsRegistry } from './registry.ts';
import { StreamMetrics } from './stream-metrics.ts';

async function shown(tell: (metrics: StreamMetrics) => void): Promise<string> {
  const registry = new MetricsRegistry();
  const metrics = new StreamMetrics(registry);
  metrics.show(
    { counts: { attached: 3, detached: 2, ended: 1 } },
    { usage: () => ({ logs: 6, bytes: 4096, bytesMax: 8192 }) },
  );
  tell(metrics);
  await registry.collect();
  return renderMetrics(registry, 'prometheus');
}

test('every counter of streams is there with 0 from the start, and gauges are read at the scrape', async () => {
  const text = await shown(() => {});
  for (const line of [
    'millrace_streams{state="attached"} 3',
    'millrace_streams{state="detached"} 2',
    'millrace_streams{state="ended"} 1',
    'millrace_stream_journal_logs 6',
    'millrace_stream_journal_bytes 4096',
    'millrace_stream_journal_max_bytes 8192',
    'millrace_streams_opened_total 0',
    'millrace_streams_ended_total{outcome="done",code=""} 0',
    'millrace_streams_expired_total{limit="resume-window"} 0',
    'millrace_stream_resumes_total{cause="take-over"} 0',
    'millrace_stream_resume_gap_seconds_count 0',
    'millrace_streams_refused_total{code="stream-not-found"} 0',
    'millrace_stream_late_inputs_total 0',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});

test('events of streams are counted by outcome, code, cause and limit', async () => {
  const text = await shown((metrics) => {
    metrics.streamOpened();
    metrics.streamRefused('stream-not-found');
    metrics.streamResumed('router-restart');
    metrics.streamRejoined(250);
    metrics.streamEnded('failed', 'worker-lost', false);
    metrics.streamEnded('expired', 'stream-expired', false);
    metrics.streamEnded('expired', 'stream-expired', true);
    metrics.streamEnded('cancelled', 'cancelled', false);
    metrics.inputsLate(4);
    metrics.stepRepeated(3);
    metrics.stepPostponed();
    metrics.workerLost();
  });
  for (const line of [
    'millrace_streams_opened_total 1',
    'millrace_streams_refused_total{code="stream-not-found"} 1',
    'millrace_stream_resumes_total{cause="router-restart"} 1',
    'millrace_stream_resume_gap_seconds_sum 0.25',
    'millrace_streams_ended_total{outcome="failed",code="worker-lost"} 1',
    'millrace_streams_expired_total{limit="life-time"} 1',
    'millrace_streams_expired_total{limit="resume-window"} 1',
    'millrace_stream_late_inputs_total 4',
    'millrace_stream_repeated_steps_total 1',
    'millrace_stream_replayed_outputs_total 3',
    'millrace_stream_postponed_steps_total 1',
    'millrace_stream_workers_lost_total 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});
