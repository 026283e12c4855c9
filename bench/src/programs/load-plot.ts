/**
 * `node bench/dist/programs/load-plot.js [SECONDS]`: p99 by load, ours and an ideal M/D/1 queue's with the same arrivals.
 * Writes bench/results/load-latency.svg.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { capacityOf, measureLoad, withServer } from '../scenarios/load-latency.ts';

const seconds = Number(process.argv[2] ?? '4');
const loads = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9];
const width = 640;
const height = 360;
const margin = 50;

const points: { load: number; ours: number; ideal: number }[] = [];
await withServer(async (port) => {
  const { perSecond, serviceMs } = await capacityOf(port, seconds);
  for (const [index, load] of loads.entries()) {
    const figures = await measureLoad(port, seconds, [
      ...['--rate', String(perSecond * load), '--service-ms', String(serviceMs), '--seed', String(index + 1)],
    ]);
    points.push({ load, ours: figures.p99 as number, ideal: figures.idealP99 as number });
  }
});

const top = Math.max(...points.flatMap(({ ours, ideal }) => [ours, ideal]));
const x = (load: number): number => margin + load * (width - 2 * margin);
const y = (milliseconds: number): number => height - margin - (milliseconds / top) * (height - 2 * margin);
const line = (value: (point: (typeof points)[number]) => number, style: string): string =>
  `<polyline fill="none" ${style} points="${points.map((point) => `${x(point.load).toFixed(1)},${y(value(point)).toFixed(1)}`).join(' ')}"/>`;
const text = (at: number, down: number, content: string): string =>
  `<text x="${at}" y="${down}" font-family="sans-serif" font-size="12">${content}</text>`;
const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1].map((load) => text(x(load) - 10, height - margin + 18, `${load * 100} %`));
const svg = [
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">`,
  `<rect width="${width}" height="${height}" fill="white"/>`,
  `<path d="M${margin} ${margin}V${height - margin}H${width - margin}" fill="none" stroke="black"/>`,
  ...ticks,
  text(margin, margin - 8, `p99, ms (top: ${top.toFixed(0)})`),
  text(width - margin - 120, height - 8, 'load, of capacity'),
  line(({ ideal }) => ideal, 'stroke="gray" stroke-dasharray="5 4" stroke-width="2"'),
  line(({ ours }) => ours, 'stroke="#0a58ca" stroke-width="2"'),
  text(margin + 20, margin + 20, 'solid: Millrace by gRPC; dashed: the ideal M/D/1 queue with the same arrivals'),
  '</svg>',
].join('\n');
writeFileSync(fileURLToPath(new URL('../../results/load-latency.svg', import.meta.url)), `${svg}\n`);
for (const { load, ours, ideal } of points) {
  console.log(`${(load * 100).toFixed(0)} %: ${ours.toFixed(2)} ms, ideal ${ideal.toFixed(2)} ms`);
}
