/** Keeps the metrics of the life cycle of models. */
import type { RowVerdict } from '@millrace/onnx';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { LibraryListener } from '../life-cycle/library-listener.ts';
import { lifeCycleMetrics, registerAll } from './metric-table.ts';
import type { MetricsRegistry } from './registry.ts';

export class LifeCycleMetrics
  implements
    Pick<
      LibraryListener,
      | 'loadStarted'
      | 'loadFailed'
      | 'modelReady'
      | 'modelEvicted'
      | 'modelForgotten'
      | 'demandLoaded'
      | 'memoryMeasured'
    >
{
  readonly #families;

  /** `budgetBytes` is Infinity when there is no budget. */
  constructor(registry: MetricsRegistry, budgetBytes: number) {
    this.#families = registerAll(registry, lifeCycleMetrics);
    const { loads, loadFailures, demandLoads, demandSeconds, memoryUsed, memoryBudget } = this.#families;
    for (const family of [loads, loadFailures, demandLoads, demandSeconds, memoryUsed]) family.bind();
    memoryBudget.bind().set(Number.isFinite(budgetBytes) ? budgetBytes : 0);
  }

  loadStarted(): void {
    this.#families.loads.bind().add(1);
  }

  loadFailed(): void {
    this.#families.loadFailures.bind().add(1);
  }

  modelReady({ view }: ServedModel): void {
    this.#families.evictions.bind(view.name, view.version);
  }

  modelEvicted({ view }: ServedModel): void {
    this.#families.evictions.bind(view.name, view.version).add(1);
  }

  modelForgotten(name: string, version: string): void {
    this.#families.evictions.remove(name, version);
    this.#families.modelMemory.remove(name, version);
    this.#forgetSharing(name, version);
  }

  /** Whether requests of a version share runs, and what the analysis of its graph found. */
  sharingKnown(name: string, version: string, verdict: RowVerdict['kind'], isShared: boolean): void {
    this.#forgetSharing(name, version);
    this.#families.rowVerdict.bind(name, version, verdict, isShared ? 'yes' : 'no').set(1);
  }

  #forgetSharing(name: string, version: string): void {
    for (const { labelValues } of [...this.#families.rowVerdict.entries()]) {
      if (labelValues[0] === name && labelValues[1] === version) this.#families.rowVerdict.remove(...labelValues);
    }
  }

  demandLoaded(_context: string, waitMs: number): void {
    this.#families.demandLoads.bind().add(1);
    this.#families.demandSeconds.bind().observe(waitMs / 1000);
  }

  memoryMeasured(
    measured: readonly { readonly model: ServedModel; readonly bytes: number }[],
    totalBytes: number,
  ): void {
    const { modelMemory, memoryUsed } = this.#families;
    for (const { series } of modelMemory.entries()) series.set(0);
    for (const { model, bytes } of measured) {
      // A version has two revisions while one replaces the other.
      const gauge = modelMemory.bind(model.view.name, model.view.version);
      gauge.set(gauge.value + bytes);
    }
    memoryUsed.bind().set(totalBytes);
  }
}
