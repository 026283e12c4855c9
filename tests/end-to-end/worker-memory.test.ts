/** Page faults of a worker for tensors of a size that the system allocates page by page. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEngine } from 'millrace';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';

const elements = 3 * 224 * 224;
const pagesOfTensor = (4 * elements) / 4096;
const hasGnuAllocator = process.platform === 'linux' && gnuLibrary() !== undefined;

function gnuLibrary(): unknown {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

function faultsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[7]);
}

function childrenOf(pid: number): readonly number[] {
  return execFileSync('ps', ['-o', 'pid=,comm=', '--ppid', String(pid)], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => /millrace-worker|node/.test(line))
    .map((line) => Number.parseInt(line, 10));
}

test.runIf(hasGnuAllocator)('large tensors are allocated in memory that the worker already has', async () => {
  const before = new Set(childrenOf(process.pid));
  const engine = await createEngine({ models: join(repositoryRoot, 'tests/models/identity_fp32/1/model.onnx') });
  try {
    const workers = childrenOf(process.pid).filter((pid) => !before.has(pid));
    expect(workers).toHaveLength(1);
    const data = new Float32Array(elements);
    const infer = async (times: number): Promise<void> => {
      for (let at = 0; at < times; at++) await engine.infer('model', { INPUT0: { shape: [1, elements], data } });
    };
    await infer(100);
    const faults = faultsOf(workers[0] as number);
    await infer(100);
    expect((faultsOf(workers[0] as number) - faults) / 100).toBeLessThan(pagesOfTensor / 4);
  } finally {
    await engine.close();
  }
});
