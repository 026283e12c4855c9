/** The registry of metric families. Binding a series is slow and rare; using a bound one is fast. */
import assert from 'node:assert/strict';
import { Counter, Gauge, Histogram, type Series } from './series.ts';

export interface MetricSpec {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, for the scrape and for docs/reference/metrics.md. */
  readonly help: string;
  readonly labels: readonly string[];
  /** All values of the last label, where they are a closed set. */
  readonly values?: readonly string[];
  /** Upper bounds of a histogram's buckets, ascending, without infinity. */
  readonly buckets?: readonly number[];
}

export interface LabelledSeries<S extends Series = Series> {
  readonly labelValues: readonly string[];
  readonly series: S;
}

/**
 * Label values come from the operator's model names, so thousands of series are a mistake. A family whose last label is a closed
 * set may have this many series for each of its values.
 */
const familySeriesMax = 10_000;

const nameForm = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelForm = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

export class MetricFamily<S extends Series = Series> {
  readonly spec: MetricSpec;
  readonly #make: () => S;
  readonly #seriesMax: number;
  readonly #byLabels = new Map<string, LabelledSeries<S>>();
  /** Bindings that were refused because the family is full. */
  seriesDropped = 0;

  constructor(spec: MetricSpec, make: () => S, seriesMax: number) {
    assert(nameForm.test(spec.name), `metric name ${spec.name}`);
    for (const label of spec.labels) assert(labelForm.test(label) && !label.startsWith('__'), `label name ${label}`);
    this.spec = spec;
    this.#make = make;
    this.#seriesMax = seriesMax * (spec.values?.length ?? 1);
  }

  /**
   * The series of these label values, in the order of the family's labels. A full family returns a series that works but is
   * not shown: metrics never fail a request.
   */
  bind(...labelValues: string[]): S {
    assert.equal(labelValues.length, this.spec.labels.length, `label values of ${this.spec.name}`);
    const key = keyOf(labelValues);
    const known = this.#byLabels.get(key);
    if (known !== undefined) return known.series;
    const series = this.#make();
    if (this.#byLabels.size >= this.#seriesMax) this.seriesDropped += 1;
    else this.#byLabels.set(key, { labelValues, series });
    return series;
  }

  /** Shows a series of another family under these label values as well. A full family does not. */
  show(series: S, ...labelValues: string[]): void {
    assert.equal(labelValues.length, this.spec.labels.length, `label values of ${this.spec.name}`);
    if (this.#byLabels.size >= this.#seriesMax) this.seriesDropped += 1;
    else this.#byLabels.set(keyOf(labelValues), { labelValues, series });
  }

  /** Binds all series of these label values: one, or one for each value of the last label where that is a closed set. */
  bindAll(...labelValues: string[]): void {
    const { values } = this.spec;
    if (values === undefined) this.bind(...labelValues);
    else for (const value of values) this.bind(...labelValues, value);
  }

  /** The opposite of `bindAll`. */
  removeAll(...labelValues: string[]): void {
    const { values } = this.spec;
    if (values === undefined) this.remove(...labelValues);
    else for (const value of values) this.remove(...labelValues, value);
  }

  /** Removes the series; code that still holds it may use it, but it is not shown. */
  remove(...labelValues: string[]): void {
    this.#byLabels.delete(keyOf(labelValues));
  }

  entries(): Iterable<LabelledSeries<S>> {
    return this.#byLabels.values();
  }
}

// A length before each value, so that no two lists of values have the same key.
function keyOf(labelValues: readonly string[]): string {
  let key = '';
  for (const value of labelValues) key += `${value.length}:${value}`;
  return key;
}

export type FamilyOf<Spec extends MetricSpec> = MetricFamily<
  Spec['type'] extends 'counter' ? Counter : Spec['type'] extends 'gauge' ? Gauge : Histogram
>;

export interface MetricsRegistryOptions {
  readonly seriesMax?: number;
}

export class MetricsRegistry {
  readonly #seriesMax: number;
  readonly #families = new Map<string, MetricFamily>();
  readonly #collectors = new Set<() => void | Promise<void>>();

  constructor(options: MetricsRegistryOptions = {}) {
    this.#seriesMax = options.seriesMax ?? familySeriesMax;
  }

  register<const Spec extends MetricSpec>(spec: Spec): FamilyOf<Spec> {
    assert(!this.#families.has(spec.name), `metric ${spec.name} is registered twice`);
    const family = new MetricFamily(spec, makerOf(spec), this.#seriesMax);
    this.#families.set(spec.name, family);
    return family as FamilyOf<Spec>;
  }

  /** Called before every scrape, for values that are cheaper to read than to keep. Returns a function that removes it. */
  onCollect(collector: () => void | Promise<void>): () => void {
    this.#collectors.add(collector);
    return () => this.#collectors.delete(collector);
  }

  async collect(): Promise<void> {
    for (const collector of this.#collectors) await collector();
  }

  /** In the order they were registered. */
  families(): Iterable<MetricFamily> {
    return this.#families.values();
  }
}

function makerOf(spec: MetricSpec): () => Series {
  switch (spec.type) {
    case 'counter':
      return () => new Counter();
    case 'gauge':
      return () => new Gauge();
    case 'histogram': {
      const bounds = Float64Array.from(spec.buckets ?? []);
      assert(bounds.length > 0, `histogram ${spec.name} has no buckets`);
      for (let index = 1; index < bounds.length; index += 1) {
        assert((bounds[index - 1] as number) < (bounds[index] as number), `buckets of ${spec.name} do not ascend`);
      }
      return () => new Histogram(bounds);
    }
  }
}
