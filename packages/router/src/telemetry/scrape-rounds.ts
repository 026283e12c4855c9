/** Renders the metrics for scrapes: those that arrive while others are collected share the next round. */
import { type ExpositionFormat, renderMetrics } from './exposition.ts';
import type { MetricsRegistry } from './registry.ts';

interface WaitingScrape {
  readonly format: ExpositionFormat;
  readonly resolve: (body: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A scrape shows all that was counted before it arrived, so it cannot have the values of a round that had begun by then. However
 * many scrapers there are, one round is collected at a time, and each format is written once in it.
 */
export class ScrapeRounds {
  readonly #registry: MetricsRegistry;
  readonly #encoder = new TextEncoder();
  #waiting: WaitingScrape[] = [];
  #isCollecting: boolean = false;

  constructor(registry: MetricsRegistry) {
    this.#registry = registry;
  }

  scrape(format: ExpositionFormat): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ format, resolve, reject });
      if (!this.#isCollecting) void this.#collectAll();
    });
  }

  async #collectAll(): Promise<void> {
    this.#isCollecting = true;
    while (this.#waiting.length > 0) await this.#round(this.#waiting.splice(0));
    this.#isCollecting = false;
  }

  async #round(scrapes: readonly WaitingScrape[]): Promise<void> {
    try {
      await this.#registry.collect();
      const bodies = new Map<ExpositionFormat, Uint8Array>();
      for (const { format, resolve } of scrapes) {
        const body = bodies.get(format) ?? this.#encoder.encode(renderMetrics(this.#registry, format));
        bodies.set(format, body);
        resolve(body);
      }
    } catch (error) {
      for (const { reject } of scrapes) reject(error);
    }
  }
}
