/** The series of a generator; other models have none. */
import type { FinishReason, GenerationLoad } from '@millrace/protocol';
import type { GeneratorObserver } from '../data-plane/observer.ts';
import { generatorMetrics, vllmMetrics } from './generator-metrics.ts';
import { type Families, registerAll } from './metric-table.ts';
import type { MetricsRegistry } from './registry.ts';
import type { Counter, Gauge, Histogram } from './series.ts';

/** Series of every model that vLLM has other names for. */
export interface SharedSeries {
  readonly requestSeconds: Histogram;
  readonly queueSeconds: Histogram;
  /** Requests admitted and not yet ended. */
  readonly outstanding: Gauge;
}

export interface GeneratorFamilies {
  readonly ours: Families<typeof generatorMetrics>;
  readonly vllm: Families<typeof vllmMetrics>;
}

export function registerGeneratorFamilies(registry: MetricsRegistry): GeneratorFamilies {
  return { ours: registerAll(registry, generatorMetrics), vllm: registerAll(registry, vllmMetrics) };
}

export function forgetGenerator({ ours, vllm }: GeneratorFamilies, model: string, version: string): void {
  for (const family of [...Object.values(ours), ...Object.values(vllm)]) family.removeAll(model, version);
}

export class GeneratorSeries implements GeneratorObserver {
  readonly #outstanding: Gauge;
  readonly #promptTokens: Counter;
  readonly #outputTokens: Counter;
  readonly #texts: Readonly<Record<FinishReason, Counter>>;
  readonly #firstToken: Histogram;
  readonly #interToken: Histogram;
  readonly #prefill: Histogram;
  readonly #decode: Histogram;
  readonly #running: Gauge;
  readonly #waiting: Gauge;
  readonly #cacheBytes: Gauge;
  readonly #cacheMaxBytes: Gauge;
  readonly #cacheUse: Gauge;
  readonly #preemptions: Counter;
  /** What each worker last said. */
  readonly #loads = new Map<number, GenerationLoad>();

  constructor({ ours, vllm }: GeneratorFamilies, shared: SharedSeries, model: string, version: string) {
    this.#outstanding = shared.outstanding;
    this.#promptTokens = ours.promptTokens.bind(model, version);
    this.#outputTokens = ours.outputTokens.bind(model, version);
    this.#texts = {
      stop: ours.texts.bind(model, version, 'stop'),
      length: ours.texts.bind(model, version, 'length'),
    };
    this.#firstToken = ours.firstTokenSeconds.bind(model, version);
    this.#interToken = ours.interTokenSeconds.bind(model, version);
    this.#prefill = ours.prefillSeconds.bind(model, version);
    this.#decode = ours.decodeSeconds.bind(model, version);
    this.#running = ours.runningTexts.bind(model, version);
    this.#waiting = ours.waitingTexts.bind(model, version);
    this.#cacheBytes = ours.cacheBytes.bind(model, version);
    this.#cacheMaxBytes = ours.cacheMaxBytes.bind(model, version);
    this.#cacheUse = vllm.cacheUse.bind(model, version);
    this.#preemptions = ours.preemptions.bind(model, version);
    vllm.promptTokens.show(this.#promptTokens, model, version);
    vllm.outputTokens.show(this.#outputTokens, model, version);
    for (const [reason, series] of Object.entries(this.#texts)) vllm.texts.show(series, model, version, reason);
    vllm.firstTokenSeconds.show(this.#firstToken, model, version);
    vllm.interTokenSeconds.show(this.#interToken, model, version);
    vllm.prefillSeconds.show(this.#prefill, model, version);
    vllm.decodeSeconds.show(this.#decode, model, version);
    vllm.requestSeconds.show(shared.requestSeconds, model, version);
    vllm.queueSeconds.show(shared.queueSeconds, model, version);
    vllm.running.show(this.#running, model, version);
    vllm.waiting.show(this.#waiting, model, version);
    vllm.preemptions.show(this.#preemptions, model, version);
  }

  textBegan(promptTokens: number, firstTokenMs: number, prefillMs: number): void {
    this.#promptTokens.add(promptTokens);
    this.#firstToken.observe(firstTokenMs / 1000);
    this.#prefill.observe(prefillMs / 1000);
  }

  tokenGenerated(sinceLastMs: number | undefined): void {
    this.#outputTokens.add(1);
    if (sinceLastMs !== undefined) this.#interToken.observe(sinceLastMs / 1000);
  }

  textEnded(reason: FinishReason, decodeMs: number): void {
    this.#texts[reason].add(1);
    this.#decode.observe(decodeMs / 1000);
  }

  loadChanged(worker: number, load: GenerationLoad | undefined): void {
    if (load === undefined) {
      this.#loads.delete(worker);
      return;
    }
    this.#preemptions.add(load.preemptions - (this.#loads.get(worker)?.preemptions ?? 0));
    this.#loads.set(worker, load);
  }

  /** Sums over workers, before a scrape. */
  collect(): void {
    const loads = [...this.#loads.values()];
    const sum = (value: (load: GenerationLoad) => number): number =>
      loads.reduce((total, load) => total + value(load), 0);
    const outstanding = this.#outstanding.value;
    // A text that has ended since is in neither.
    const running = Math.min(
      sum((load) => load.running),
      outstanding,
    );
    this.#running.set(running);
    this.#waiting.set(outstanding - running);
    this.#cacheBytes.set(sum(({ cacheBytes }) => cacheBytes));
    this.#cacheMaxBytes.set(sum(({ cacheBytesMax }) => cacheBytesMax));
    this.#cacheUse.set(Math.max(0, ...loads.map(({ cacheBytes, cacheBytesMax }) => cacheBytes / cacheBytesMax)));
  }
}
