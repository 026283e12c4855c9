/** A folder of models for tests: copies of others, and models written for the test. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

export class ModelRepository {
  readonly path = mkdtempSync(join(tmpdir(), 'millrace-models-'));

  /** Copies the folder of a model, under another name if one is given. */
  copy(folder: string, name = basename(folder)): this {
    cpSync(folder, join(this.path, name), { recursive: true });
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
