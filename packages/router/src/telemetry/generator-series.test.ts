import { expect, test } from 'vitest';
import { renderMetrics } from './exposition.ts';
import { MetricsObserver } from './metrics-observer.ts';
import { MetricsRegistry } from './registry.ts';

const load = { running: 2, waiting: 1, cacheBytes: 300, cacheBytesMax: 1000, preemptions: 4 };

async function scraped(registry: MetricsRegistry): Promise<(line: string) => number | undefined> {
  await registry.collect();
  const lines = renderMetrics(registry, 'prometheus').split('\n');
  return (start) => {
    const line = lines.find((one) => one.startsWith(`${start} `));
    return line === undefined ? undefined : Number(line.slice(start.length));
  };
}

function observed() {
  const registry = new MetricsRegistry();
  const observer = new MetricsObserver(registry, { version: '1', node: '20' });
  return { registry, observer, model: observer.observerFor('story', '1') };
}

test('tokens and texts are counted under our names and under those of vLLM', async () => {
  const { registry, model } = observed();
  const generator = model.generator();
  expect((await scraped(registry))('millrace_generator_output_tokens_total{model="story",version="1"}')).toBe(0);
  generator.textBegan(12, 80, 50);
  generator.tokenGenerated(undefined);
  generator.tokenGenerated(30);
  generator.textEnded('stop', 30);
  const value = await scraped(registry);
  const ours = '{model="story",version="1"}';
  const vllm = '{model_name="story",version="1"}';
  for (const [name, expected] of [
    [`millrace_generator_prompt_tokens_total${ours}`, 12],
    [`vllm:prompt_tokens_total${vllm}`, 12],
    [`millrace_generator_output_tokens_total${ours}`, 2],
    [`vllm:generation_tokens_total${vllm}`, 2],
    ['millrace_generator_texts_total{model="story",version="1",reason="stop"}', 1],
    ['millrace_generator_texts_total{model="story",version="1",reason="length"}', 0],
    ['vllm:request_success_total{model_name="story",version="1",finished_reason="stop"}', 1],
    [`millrace_generator_first_token_seconds_sum${ours}`, 0.08],
    [`vllm:time_to_first_token_seconds_count${vllm}`, 1],
    [`millrace_generator_inter_token_seconds_sum${ours}`, 0.03],
    [`vllm:inter_token_latency_seconds_count${vllm}`, 1],
    [`vllm:request_prefill_time_seconds_sum${vllm}`, 0.05],
    [`vllm:request_decode_time_seconds_sum${vllm}`, 0.03],
    [`vllm:e2e_request_latency_seconds_count${vllm}`, 0],
  ] as const) {
    expect(value(name), name).toBe(expected);
  }
});

test('what workers say is summed, and forgotten with the worker; preemptions of a new worker begin at 0 again', async () => {
  const { registry, model } = observed();
  const generator = model.generator();
  for (let request = 0; request < 7; request++) model.requestAdmitted(1);
  generator.loadChanged(1, load);
  generator.loadChanged(2, { ...load, cacheBytes: 900, preemptions: 1 });
  let value = await scraped(registry);
  const ours = '{model="story",version="1"}';
  expect(value(`millrace_generator_running_texts${ours}`)).toBe(4);
  expect(value(`millrace_generator_waiting_texts${ours}`)).toBe(3);
  expect(value(`millrace_generator_cache_bytes${ours}`)).toBe(1200);
  expect(value(`millrace_generator_cache_max_bytes${ours}`)).toBe(2000);
  expect(value('vllm:kv_cache_usage_perc{model_name="story",version="1"}')).toBe(0.9);
  expect(value('vllm:num_requests_waiting{model_name="story",version="1"}')).toBe(3);
  generator.loadChanged(2, undefined);
  generator.loadChanged(3, { ...load, running: 0, preemptions: 2 });
  value = await scraped(registry);
  expect(value(`millrace_generator_preemptions_total${ours}`)).toBe(7);
  expect(value(`millrace_generator_running_texts${ours}`)).toBe(2);
});

test('the series end with the model, and models of other kinds have none', async () => {
  const { registry, observer, model } = observed();
  observer.observerFor('mlp', '1');
  model.generator().tokenGenerated(undefined);
  await registry.collect();
  expect(renderMetrics(registry, 'prometheus')).not.toMatch(/generator.*mlp|vllm.*mlp/);
  observer.modelForgotten('story', '1');
  await registry.collect();
  expect(renderMetrics(registry, 'openmetrics')).not.toMatch(/generator|vllm/);
});
