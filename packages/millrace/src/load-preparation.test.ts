import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadPreparation } from './load-preparation.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-preparation-'));
afterAll(() => rmSync(root, { recursive: true }));

function location(name: string, ...files: readonly string[]) {
  for (const file of files) {
    mkdirSync(join(root, name, '1'), { recursive: true });
    writeFileSync(join(root, name, '1', file), '');
  }
  return { name, path: join(root, name), isSingleFile: false, hasConfig: false, versions: ['1'] };
}

function prepared(locations: readonly ReturnType<typeof location>[], workersMax = 2): readonly string[] {
  const said: string[] = [];
  const lane = { prepare: (workers: number) => void said.push(`${workers} workers`), release: () => {} };
  loadPreparation({ lane, workersMax, prepareAnalysis: () => said.push('analysis') }).prepare(locations);
  return said;
}

test('workers are started for graphs, at most so many', () => {
  const graphs = ['a', 'b', 'c'].map((name) => location(name, 'model.onnx'));
  expect(prepared(graphs.slice(0, 1))).toEqual(['analysis', '1 workers']);
  expect(prepared(graphs)).toEqual(['analysis', '2 workers']);
  expect(prepared([{ ...location('d'), isSingleFile: true }])).toEqual(['analysis', '1 workers']);
});

test('nothing is started for a repository without graphs', () => {
  expect(prepared([])).toEqual([]);
  expect(prepared([location('pipeline', 'pipeline.ts'), location('ensemble')])).toEqual([]);
});
