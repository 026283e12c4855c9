/** The MLP 64-256-256-10 that every bench speaks of: where it lies and one request for it. */
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const mlpPath = fileURLToPath(new URL('../../models/mlp/1/model.onnx', import.meta.url));
export const mlpInputs = 64;

/** Reproducible rows: the same for every contestant. */
export function mlpRows(rows: number): Float32Array {
  const data = new Float32Array(rows * mlpInputs);
  for (let index = 0; index < data.length; index++) data[index] = Math.sin(index * 12.9898) % 1;
  return data;
}

/** A repository of its own with the MLP in batches of at most this many rows. */
export function mlpRepository(rowsMax: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mlp-'));
  mkdirSync(join(folder, 'mlp/1'), { recursive: true });
  copyFileSync(mlpPath, join(folder, 'mlp/1/model.onnx'));
  writeFileSync(join(folder, 'mlp/config.pbtxt'), `max_batch_size: ${rowsMax}\ndynamic_batching { }\n`);
  return folder;
}
