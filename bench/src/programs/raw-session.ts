/** Raw ONNX Runtime on this core: the median of one row, and rows/s at the best batch. Prints one JSON line. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { median } from '../statistics.ts';
import { mustFindSubject, rowsOf, subjectRepository } from '../subject.ts';

const seconds = Number(process.argv[2] ?? '2');
const subject = mustFindSubject(process.argv[3] ?? 'mlp');
const repository = subjectRepository(subject, 1);
const session = await InferenceSession.create(join(repository, subject.name, '1/model.onnx'), {
  intraOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});
rmSync(repository, { recursive: true });
const batches = process.argv[4]?.split(',').map(Number) ?? [1, 8, 16, 32, 64, 128, 256, 512];
const figures: Record<string, number> = {};
let best = 0;
for (const rows of batches) {
  const feeds = { [subject.input]: new Tensor('float32', rowsOf(subject, rows), [rows, ...subject.rowShape]) };
  const warmUpEnd = performance.now() + Math.min(500, (seconds * 250) / batches.length);
  do await session.run(feeds);
  while (performance.now() < warmUpEnd);
  const micros: number[] = [];
  const begin = performance.now();
  const end = begin + (seconds * 1000) / batches.length;
  let now = begin;
  while (now < end) {
    await session.run(feeds);
    const after = performance.now();
    micros.push((after - now) * 1000);
    now = after;
  }
  const rowsPerSecond = (micros.length * rows * 1000) / (now - begin);
  if (rows === 1) figures.oneRowMicros = median(micros);
  if (rowsPerSecond > best) {
    best = rowsPerSecond;
    figures.bestBatch = rows;
    figures.bestRowsPerSecond = rowsPerSecond;
  }
}
process.stdout.write(`${JSON.stringify(figures)}\n`);
