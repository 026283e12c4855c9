/** The metrics of generators, under our names and under those of vLLM, which dashboards and autoscalers of text generation read. */
import { finishReasons } from '@millrace/protocol';
import { latencyBucketsSeconds } from './latency-buckets.ts';
import type { MetricSpec } from './registry.ts';

const ofModel = ['model', 'version'] as const;

export const generatorMetrics = {
  promptTokens: {
    name: 'millrace_generator_prompt_tokens_total',
    type: 'counter',
    help: 'Tokens of prompts, counted with the first token of each text.',
    labels: ofModel,
  },
  outputTokens: {
    name: 'millrace_generator_output_tokens_total',
    type: 'counter',
    help: 'Tokens that were generated. Those that a stream gets again after a failure, from its beginning up to where it was, are not counted again.',
    labels: ofModel,
  },
  texts: {
    name: 'millrace_generator_texts_total',
    type: 'counter',
    help: 'Texts that were generated to their end: `stop`, an end-of-text token or a stop string; `length`, as many tokens as were asked for. Failures are in millrace_failures_total.',
    labels: ['model', 'version', 'reason'],
    values: finishReasons,
  },
  firstTokenSeconds: {
    name: 'millrace_generator_first_token_seconds',
    type: 'histogram',
    help: 'Time from the request to the first token.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  interTokenSeconds: {
    name: 'millrace_generator_inter_token_seconds',
    type: 'histogram',
    help: 'Time from one token of a text to the next, as they come from the worker. It includes waiting for a client that reads slowly.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  prefillSeconds: {
    name: 'millrace_generator_prefill_seconds',
    type: 'histogram',
    help: 'Time from the dispatch to a worker to the first token.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  decodeSeconds: {
    name: 'millrace_generator_decode_seconds',
    type: 'histogram',
    help: 'Time from the first token to the last, of texts that were generated to their end; after a failure from the first new token.',
    labels: ofModel,
    buckets: latencyBucketsSeconds,
  },
  runningTexts: {
    name: 'millrace_generator_running_texts',
    type: 'gauge',
    help: 'Texts that have a cache, as the workers last said.',
    labels: ofModel,
  },
  waitingTexts: {
    name: 'millrace_generator_waiting_texts',
    type: 'gauge',
    help: 'Texts that were admitted and have no cache: in the queue, or at a worker.',
    labels: ofModel,
  },
  cacheBytes: {
    name: 'millrace_generator_cache_bytes',
    type: 'gauge',
    help: 'What the keys and values of all texts take, as the workers last said.',
    labels: ofModel,
  },
  cacheMaxBytes: {
    name: 'millrace_generator_cache_max_bytes',
    type: 'gauge',
    help: 'What they may take in all workers (`millrace.generator_cache_bytes_max` in each); 0 before the first token.',
    labels: ofModel,
  },
  preemptions: {
    name: 'millrace_generator_preemptions_total',
    type: 'counter',
    help: 'How often a text gave its cache up for others, to be computed again later.',
    labels: ofModel,
  },
} as const satisfies Record<string, MetricSpec>;

const ofVllm = ['model_name', 'version'] as const;

export const vllmMetrics = {
  running: {
    name: 'vllm:num_requests_running',
    type: 'gauge',
    help: 'Texts that have a cache (vLLM name).',
    labels: ofVllm,
  },
  waiting: {
    name: 'vllm:num_requests_waiting',
    type: 'gauge',
    help: 'Texts that wait, in the queue or at a worker (vLLM name).',
    labels: ofVllm,
  },
  cacheUse: {
    name: 'vllm:kv_cache_usage_perc',
    type: 'gauge',
    help: 'Part of the memory for caches that is in use, from 0 to 1, in the worker that uses most (vLLM name).',
    labels: ofVllm,
  },
  promptTokens: {
    name: 'vllm:prompt_tokens_total',
    type: 'counter',
    help: 'Tokens of prompts (vLLM name).',
    labels: ofVllm,
  },
  outputTokens: {
    name: 'vllm:generation_tokens_total',
    type: 'counter',
    help: 'Tokens that were generated (vLLM name).',
    labels: ofVllm,
  },
  texts: {
    name: 'vllm:request_success_total',
    type: 'counter',
    help: 'Texts that were generated to their end, by reason (vLLM name).',
    labels: ['model_name', 'version', 'finished_reason'],
    values: finishReasons,
  },
  preemptions: {
    name: 'vllm:num_preemptions_total',
    type: 'counter',
    help: 'How often a text gave its cache up for others (vLLM name).',
    labels: ofVllm,
  },
  firstTokenSeconds: {
    name: 'vllm:time_to_first_token_seconds',
    type: 'histogram',
    help: 'Time from the request to the first token (vLLM name).',
    labels: ofVllm,
    buckets: latencyBucketsSeconds,
  },
  interTokenSeconds: {
    name: 'vllm:inter_token_latency_seconds',
    type: 'histogram',
    help: 'Time from one token of a text to the next (vLLM name).',
    labels: ofVllm,
    buckets: latencyBucketsSeconds,
  },
  requestSeconds: {
    name: 'vllm:e2e_request_latency_seconds',
    type: 'histogram',
    help: 'Time of answered requests from admission to the last token (vLLM name).',
    labels: ofVllm,
    buckets: latencyBucketsSeconds,
  },
  queueSeconds: {
    name: 'vllm:request_queue_time_seconds',
    type: 'histogram',
    help: 'Time that answered requests waited for a worker (vLLM name).',
    labels: ofVllm,
    buckets: latencyBucketsSeconds,
  },
  prefillSeconds: {
    name: 'vllm:request_prefill_time_seconds',
    type: 'histogram',
    help: 'Time from the dispatch to a worker to the first token (vLLM name).',
    labels: ofVllm,
    buckets: latencyBucketsSeconds,
  },
  decodeSeconds: {
    name: 'vllm:request_decode_time_seconds',
    type: 'histogram',
    help: 'Time from the first token to the last (vLLM name).',
    labels: ofVllm,
    buckets: latencyBucketsSeconds,
  },
} as const satisfies Record<string, MetricSpec>;
