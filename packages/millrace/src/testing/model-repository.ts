/** A folder of models for tests: some of the demo models, and models written for the test. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onnxModelFrom } from '@millrace/worker/testing';

const demoModels = fileURLToPath(new URL('../../../../models', import.meta.url));

export class ModelRepository {
  readonly path = mkdtempSync(join(tmpdir(), 'millrace-models-'));

  demo(...names: readonly string[]): this {
    for (const name of names) cpSync(join(demoModels, name), join(this.path, name), { recursive: true });
    return this;
  }

  write(path: string, content: string | Uint8Array): this {
    const full = join(this.path, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    return this;
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }
}

/** `output = left OPERATOR right` on rows of two FP32 numbers: versions of one model that can be told apart. */
export function binaryModel(operator: 'Add' | 'Sub' | 'Mul'): Uint8Array {
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', 2] });
  return onnxModelFrom({
    inputs: [value('left'), value('right')],
    outputs: [value('output')],
    nodes: [{ operator, inputs: ['left', 'right'], outputs: ['output'] }],
  });
}
