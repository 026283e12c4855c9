/** A request that makes a kernel access invalid memory: CUDA then runs nothing more in that process. */
import assert from 'node:assert/strict';
import { InferenceError } from '@millrace/protocol';
import { ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine } from 'millrace';
import type { Checks } from './checks.ts';

const rowCount = 10;
/** Far beyond the table, and beyond what the process has of the GPU. */
const wildIndex = 1_000_000_000n;

export async function checkSpoiledProcess(checks: Checks): Promise<void> {
  const table = onnxModelFrom({
    inputs: [
      { name: 'table', datatype: 'FP32', shape: [rowCount, 4] },
      { name: 'index', datatype: 'INT64', shape: [1, 1] },
    ],
    outputs: [{ name: 'row', datatype: 'FP32', shape: [1, 4] }],
    nodes: [{ operator: 'GatherND', inputs: ['table', 'index'], outputs: ['row'] }],
  });
  const models = new ModelRepository()
    .write('table/1/model.onnx', table)
    .write('table/config.pbtxt', 'max_batch_size: 0 instance_group { kind: KIND_GPU count: 1 gpus: [ 0 ] }');
  const engine = await createEngine({ models: models.path });
  try {
    await checks.check('a request that spoils a worker on the GPU is refused, and the next is answered', async () => {
      assert.deepEqual(await rowOf(engine, 2n), [8, 9, 10, 11]);
      const refusal = await rowOf(engine, wildIndex).catch((error: unknown) => error);
      assert.ok(refusal instanceof InferenceError, `it was answered with ${String(refusal)}`);
      assert.equal(refusal.code, 'poison-request');
      assert.deepEqual(await rowOf(engine, 3n), [12, 13, 14, 15]);
      return refusal.message;
    });
  } finally {
    await engine.close();
    models.remove();
  }
}

async function rowOf(engine: EmbeddedEngine, index: bigint): Promise<readonly number[]> {
  const table = Float32Array.from({ length: rowCount * 4 }, (_, value) => value);
  const { outputs } = await engine.infer('table', {
    table: { data: table, shape: [rowCount, 4] },
    index: { data: [index], shape: [1, 1] },
  });
  return [...((outputs.row?.data ?? []) as ArrayLike<number> & Iterable<number>)];
}
