import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ProbeMemory } from './probe-memory.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-probes-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const probe = { key: 'a', layout: 'padded', rowsMax: 32, isExact: true, findings: [] } as const;

test('a probe is kept for the next router, and replaced by one with another key', () => {
  const file = join(folder, 'probes.json');
  const first = new ProbeMemory(file);
  expect(first.take('story:1')).toBeUndefined();
  first.keep('story:1', probe);
  expect(new ProbeMemory(file).take('story:1')).toEqual(probe);
  first.keep('story:1', { ...probe, key: 'b', isExact: false });
  expect(new ProbeMemory(file).take('story:1')).toMatchObject({ key: 'b', isExact: false });
  expect(new ProbeMemory(file).take('story:2')).toBeUndefined();
});

test.each(['', '{', '[]', '3', '{"story:1": {"key": "a"}}', '{"story:1": null}'])(
  'a file with %j holds no probe, and is written anew',
  (text) => {
    const file = join(folder, 'probes.json');
    writeFileSync(file, text);
    const memory = new ProbeMemory(file);
    expect(memory.take('story:1')).toBeUndefined();
    memory.keep('story:1', probe);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ 'story:1': probe });
  },
);

test('without a file, and in a folder that cannot be written, it is kept in memory', () => {
  for (const memory of [new ProbeMemory(undefined), new ProbeMemory(join(folder, 'missing/probes.json'))]) {
    memory.keep('story:1', probe);
    expect(memory.take('story:1')).toEqual(probe);
  }
});
