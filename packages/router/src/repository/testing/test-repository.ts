/** Model repositories for tests, in a temporary folder of their own. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export class TestRepository {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<TestRepository> {
    return new TestRepository(await mkdtemp(join(tmpdir(), 'millrace-repository-')));
  }

  /** Writes a file, with the folders above it; returns its path. */
  async write(path: string, content: string | Uint8Array): Promise<string> {
    const full = join(this.path, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
    return full;
  }

  async folder(path: string): Promise<string> {
    const full = join(this.path, path);
    await mkdir(full, { recursive: true });
    return full;
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}
