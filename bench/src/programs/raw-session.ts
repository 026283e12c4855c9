/** Raw ONNX Runtime on this core: the median of one row, and rows/s at the best batch. Prints one JSON line. */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { median } from '../statistics.ts';

const seconds = Number(process.argv[2] ?? '2');
const session = await InferenceSession.create(mlpPath, {
  intraOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});
const inputName = session.inputNames[0] as string;
const batches = [1, 8, 16, 32, 64, 128, 256];
const figures: Record<string, number> = {};
let best = 0;
for (const rows of batches) {
  const feeds = { [inputName]: new Tensor('float32', mlpRows(rows), [rows, mlpInputs]) };
  for (let run = 0; run < 200; run++) await session.run(feeds);
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
