/** The MLP 64-256-256-10 that every bench speaks of: where it lies and one request for it. */
import { fileURLToPath } from 'node:url';

export const mlpPath = fileURLToPath(new URL('../../tests/models/mlp/1/model.onnx', import.meta.url));
export const mlpInputs = 64;

/** Reproducible rows: the same for every contestant. */
export function mlpRows(rows: number): Float32Array {
  const data = new Float32Array(rows * mlpInputs);
  for (let index = 0; index < data.length; index++) data[index] = Math.sin(index * 12.9898) % 1;
  return data;
}
