/** Which native libraries the process of the router has: an engine only where a model runs in that process. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const model = join(repositoryRoot, 'tests/models/mlp/1/model.onnx');
const reportName = 'report.json';
const onnxruntime = /onnxruntime[^/]*\.(node|so|dylib)/;
let folder = '';
let server: ServerProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-report-'));
});

afterEach(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

/** What Node reports in every system; on Linux also what the kernel has mapped, which no loader can hide. */
async function librariesOf({ routerPid }: ServerProcess): Promise<readonly string[]> {
  let reported: string | undefined;
  process.kill(routerPid, 'SIGUSR2');
  await eventually('the server has written its report', () => {
    reported = takeReportedLibraries();
    return reported !== undefined;
  });
  const libraries = [reported as string];
  if (process.platform === 'linux') libraries.push(readFileSync(`/proc/${routerPid}/maps`, 'utf8'));
  return libraries;
}

/** Undefined while the report is not there, or not all of it. */
function takeReportedLibraries(): string | undefined {
  try {
    const report = JSON.parse(readFileSync(join(folder, reportName), 'utf8')) as { sharedObjects: readonly string[] };
    return report.sharedObjects.join('\n');
  } catch {
    return undefined;
  }
}

test.each([
  { lane: 'local', isLoaded: false },
  { lane: 'inline', isLoaded: true },
])('with a model on the $lane lane the router has ONNX Runtime loaded: $isLoaded', async ({ lane, isLoaded }) => {
  const options = ['on-signal', 'exclude-network', `directory=${folder}`, `filename=${reportName}`];
  server = await ServerProcess.start([model, '--lane', lane], {
    environment: { NODE_OPTIONS: options.map((option) => `--report-${option}`).join(' ') },
  });
  const data = Array.from({ length: 64 }, () => 0);
  const body = JSON.stringify({ inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 64], data }] });
  const answer = await fetch(`${server.url}/v2/models/model/infer`, { method: 'POST', body });
  expect(answer.status).toBe(200);
  for (const libraries of await librariesOf(server)) {
    // Anything at all is listed, so that its absence says something.
    expect(libraries).toMatch(/libc|libSystem/);
    expect(onnxruntime.test(libraries)).toBe(isLoaded);
  }
});
