/**
 * Draws how the adaptive mode finds its sizes: the real controller against a simulated model that becomes twice as slow
 * for a while. `npm run build && node bench/dist/programs/adaptive-plot.js` writes docs/images/adaptive-batching.svg.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AdaptiveBatching, serviceShare } from '@millrace/core';
import { bestFixed, FullLoad, type SimulatedBatch, type SimulatedModel } from '@millrace/core/testing';
import { seededRandom } from '../queueing.ts';

const targetMs = 60;
const rowsMax = 64;
const instancesMax = 4;
const usual: SimulatedModel = { runMs: 3, rowMs: 0.3, cores: 2 };
const slow: SimulatedModel = { runMs: 6, rowMs: 0.6, cores: 2 };
const phases = [
  { model: usual, untilMs: 120_000 },
  { model: slow, untilMs: 240_000 },
  { model: usual, untilMs: 400_000 },
] as const;
const sampleMs = 2000;

interface Sample {
  readonly atMs: number;
  readonly p99Ms: number;
  readonly rows: number;
  readonly instances: number;
  readonly rowsPerMs: number;
  readonly bestRowsPerMs: number;
}

function simulate(): readonly Sample[] {
  const controller = new AdaptiveBatching({ targetMs, rowsMax, instancesMax });
  const load = new FullLoad(seededRandom(6));
  const samples: Sample[] = [];
  for (const { model, untilMs } of phases) {
    const best = bestFixed(model, rowsMax, instancesMax, targetMs * serviceShare).rowsPerMs;
    while (load.nowMs < untilMs) {
      const batches: SimulatedBatch[] = [];
      const startedAt = load.nowMs;
      load.run(model, controller, Math.min(untilMs, startedAt + sampleMs), (batch) => batches.push(batch));
      const latencies = batches.map(({ latencyMs }) => latencyMs).sort((left, right) => left - right);
      const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
      samples.push({
        atMs: load.nowMs,
        p99Ms: latencies[Math.ceil(0.99 * latencies.length) - 1] ?? 0,
        rows: controller.rows,
        instances: controller.instances,
        rowsPerMs: rows / (load.nowMs - startedAt),
        bestRowsPerMs: best,
      });
    }
  }
  return samples;
}

interface Curve {
  readonly name: string;
  readonly color: string;
  readonly isDashed?: boolean;
  readonly value: (sample: Sample) => number;
}

const width = 760;
const panelHeight = 150;
const margin = { left: 60, right: 150, top: 34, bottom: 24 };

function panel(samples: readonly Sample[], top: number, title: string, curves: readonly Curve[]): string {
  const endMs = samples.at(-1)?.atMs ?? 1;
  const highest = 1.15 * Math.max(...samples.flatMap((sample) => curves.map(({ value }) => value(sample))));
  const x = (atMs: number): number => margin.left + (atMs / endMs) * (width - margin.left - margin.right);
  const y = (value: number): number => top + panelHeight - (value / highest) * panelHeight;
  const parts = [`<text x="${margin.left}" y="${top - 8}" class="title">${title}</text>`];
  for (const share of [0, 0.5, 1]) {
    const value = (highest / 1.15) * share;
    const text = highest < 20 ? value.toFixed(1) : value.toFixed(0);
    parts.push(
      `<line x1="${margin.left}" x2="${width - margin.right}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" class="grid"/>`,
      `<text x="${margin.left - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${text}</text>`,
    );
  }
  for (const [index, { name, color, isDashed, value }] of curves.entries()) {
    const points = samples.map((sample) => `${x(sample.atMs).toFixed(1)},${y(value(sample)).toFixed(1)}`).join(' ');
    const dash = isDashed === true ? ' stroke-dasharray="5 4"' : '';
    parts.push(`<polyline points="${points}" fill="none" stroke="${color}" stroke-width="1.6"${dash}/>`);
    parts.push(`<text x="${width - margin.right + 10}" y="${top + 16 + 18 * index}" fill="${color}">${name}</text>`);
  }
  for (const { untilMs } of phases.slice(0, -1)) {
    parts.push(
      `<line x1="${x(untilMs).toFixed(1)}" x2="${x(untilMs).toFixed(1)}" y1="${top}" y2="${top + panelHeight}" class="phase"/>`,
    );
  }
  return parts.join('\n');
}

function drawing(samples: readonly Sample[]): string {
  const step = panelHeight + margin.top + margin.bottom;
  const height = 3 * step + 20;
  const panels = [
    panel(samples, margin.top, 'latency of batches, dispatch to answer (ms)', [
      { name: '99th percentile', color: '#c0392b', value: ({ p99Ms }) => p99Ms },
      { name: 'allowed', color: '#555555', isDashed: true, value: () => targetMs * serviceShare },
    ]),
    panel(samples, margin.top + step, 'what the controller chooses', [
      { name: 'rows of a batch', color: '#2471a3', value: ({ rows }) => rows },
      { name: 'instances x 10', color: '#7d3c98', value: ({ instances }) => 10 * instances },
    ]),
    panel(samples, margin.top + 2 * step, 'throughput (rows/ms)', [
      { name: 'adaptive', color: '#1e8449', value: ({ rowsPerMs }) => rowsPerMs },
      { name: 'best fixed choice', color: '#555555', isDashed: true, value: ({ bestRowsPerMs }) => bestRowsPerMs },
    ]),
  ];
  const style = 'text{font:12px sans-serif}.title{font-weight:bold}.grid{stroke:#dddddd}.phase{stroke:#999999}';
  const note = `full load, target ${targetMs} ms; between the lines the model takes twice as long`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    '<title>How the adaptive mode finds rows and instances for a latency target</title>',
    `<style>${style}</style><rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...panels,
    `<text x="${margin.left}" y="${height - 8}">0 to ${Math.round((samples.at(-1)?.atMs ?? 0) / 1000)} s; ${note}</text>`,
    '</svg>\n',
  ].join('\n');
}

const path = fileURLToPath(new URL('../../../docs/images/adaptive-batching.svg', import.meta.url));
writeFileSync(path, drawing(simulate()));
process.stdout.write(`${path}\n`);
