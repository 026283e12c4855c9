/** The test model whose run takes about a millisecond a step, in a repository of its own: one request, one run. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../tests/models/slow', import.meta.url));

export function slowRepository(queueRequestsMax: number): string {
  const repository = mkdtempSync(join(tmpdir(), 'millrace-slow-'));
  mkdirSync(join(repository, 'slow/1'), { recursive: true });
  copyFileSync(join(folder, '1/model.onnx'), join(repository, 'slow/1/model.onnx'));
  const bound = `parameters { key: "millrace.queue_requests_max" value { string_value: "${queueRequestsMax}" } }\n`;
  writeFileSync(join(repository, 'slow/config.pbtxt'), readFileSync(join(folder, 'config.pbtxt'), 'utf8') + bound);
  return repository;
}
