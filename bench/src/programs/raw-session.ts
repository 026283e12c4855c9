/** Raw ONNX Runtime on this core: its best batch, rows/s with that and the processor's time a row. One JSON line. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { inputRowsFor, mustFindSubject, subjectRepository } from '../subject.ts';

const seconds = Number(process.argv[2] ?? '2');
/** In all, for finding the best batch. */
const trialSeconds = 2 * seconds;
const subject = mustFindSubject(process.argv[3] ?? 'mlp');
const repository = subjectRepository(subject, 1);
const session = await InferenceSession.create(join(repository, subject.name, '1/model.onnx'), {
  intraOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});
rmSync(repository, { recursive: true });
const batches = process.argv[4]?.split(',').map(Number) ?? [1, 8, 16, 32, 64, 128, 256, 512];

async function paceOf(rows: number, milliseconds: number): Promise<{ rowsPerSecond: number; microsPerRow: number }> {
  const feeds = { [subject.input]: new Tensor('float32', inputRowsFor(subject, rows), [rows, ...subject.rowShape]) };
  const warmUpEnd = performance.now() + Math.min(500, milliseconds / 4);
  do await session.run(feeds);
  while (performance.now() < warmUpEnd);
  const usedBefore = process.cpuUsage();
  const begin = performance.now();
  const end = begin + milliseconds;
  let now = begin;
  let runs = 0;
  while (now < end) {
    await session.run(feeds);
    runs += 1;
    now = performance.now();
  }
  const { user, system } = process.cpuUsage(usedBefore);
  return { rowsPerSecond: (runs * rows * 1000) / (now - begin), microsPerRow: (user + system) / (runs * rows) };
}

let bestBatch = 0;
let most = 0;
for (const rows of batches) {
  const { rowsPerSecond } = await paceOf(rows, (trialSeconds * 1000) / batches.length);
  if (rowsPerSecond <= most) continue;
  most = rowsPerSecond;
  bestBatch = rows;
}
// Measured anew, for as long as whoever is compared with it: the most of many figures is also the luckiest of them.
const { rowsPerSecond, microsPerRow } = await paceOf(bestBatch, seconds * 1000);
process.stdout.write(`${JSON.stringify({ bestBatch, rowsPerSecond, microsPerRow })}\n`);
