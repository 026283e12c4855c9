/** One caller at a time through the data plane, without a socket: median microseconds a call, by lane. Prints one JSON line. */
import { createEngine } from 'millrace';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { mlpInputs, mlpPath, mlpRows } from '../mlp.ts';
import { median } from '../statistics.ts';

const seconds = Number(process.argv[2] ?? '2');
const data = mlpRows(1);
const shape = [1, mlpInputs];
const session = await InferenceSession.create(mlpPath, {
  intraOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});
const inputName = session.inputNames[0] as string;

async function medianMicros(call: () => Promise<unknown>): Promise<number> {
  for (let run = 0; run < 2000; run++) await call();
  const micros: number[] = [];
  const end = performance.now() + (seconds * 1000) / 3;
  let before = performance.now();
  while (before < end) {
    await call();
    const after = performance.now();
    micros.push((after - before) * 1000);
    before = after;
  }
  return median(micros);
}

const figures: Record<string, number> = {
  raw: await medianMicros(() => session.run({ [inputName]: new Tensor('float32', data, shape) })),
};
for (const lane of ['inline', 'local'] as const) {
  const engine = await createEngine({ models: mlpPath, worker: { lane } });
  figures[lane] = await medianMicros(() => engine.infer('model', { [inputName]: { shape, data } }));
  await engine.close();
}
process.stdout.write(`${JSON.stringify(figures)}\n`);
