/** A server that is killed while its labels are moved comes back with the last acknowledged ones, whole. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { createEngine } from 'millrace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundledProgram } from '../support/bundled-program.ts';

const rounds = 12;
const store = mkdtempSync(join(tmpdir(), 'millrace-kill-'));
const models = new ModelRepository()
  .write('calculator/1/model.onnx', binaryModel('Add'))
  .write('calculator/2/model.onnx', binaryModel('Mul'))
  .write('calculator/config.pbtxt', 'max_batch_size: 8 version_policy { all { } }');

let program: string;
beforeAll(async () => {
  program = await bundledProgram('chaos/move-labels');
});
afterAll(() => {
  models.remove();
  rmSync(store, { recursive: true });
});

interface Acknowledged {
  readonly revision: number;
  readonly version: string;
}

/** Kills the server when it has acknowledged that many moves; returns the last one that was heard of. */
async function killAfter(moves: number): Promise<{ opened: number; last: Acknowledged }> {
  const child = spawn(process.execPath, [program, models.path, store], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
  let opened = -1;
  let last: Acknowledged = { revision: 0, version: '' };
  let left = moves;
  const wrong: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [kind, number, version] = line.split(' ') as [string, string, string];
    if (kind === 'wrong') wrong.push(line);
    if (kind === 'open') opened = Number(number);
    if (kind !== 'moved') continue;
    last = { revision: Number(number), version };
    left -= 1;
    if (left === 0) child.kill('SIGKILL');
  }
  expect(await exit).toBe('SIGKILL');
  expect(wrong).toEqual([]);
  return { opened, last };
}

test(`killed ${rounds} times while labels are moved, it has the last acknowledged ones`, {
  timeout: 180_000,
}, async () => {
  let before: Acknowledged = { revision: 0, version: '' };
  for (let round = 0; round < rounds; round++) {
    // Never the same number twice, and odd and even ones.
    const { opened, last } = await killAfter(3 + ((round * 37) % 60));
    // One move may have been made that nobody heard of.
    expect(opened).toBeGreaterThanOrEqual(before.revision);
    expect(opened).toBeLessThanOrEqual(before.revision + 1);
    expect(last.revision).toBeGreaterThan(opened);
    before = last;
  }
  const engine = await createEngine({ models: models.path, worker: { lane: 'inline' }, store: { path: store } });
  const { labels, split, revision } = engine.traffic('calculator');
  const version = labels.get('stable') as string;
  expect([before.revision, before.revision + 1]).toContain(revision);
  if (revision === before.revision) expect(version).toBe(before.version);
  expect(labels).toEqual(
    new Map([
      ['stable', version],
      ['canary', version],
    ]),
  );
  expect(split).toEqual([{ version, weight: 1 }]);
  await engine.close();
});
