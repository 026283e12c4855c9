import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const sourceFolder = fileURLToPath(new URL('.', import.meta.url));
const nodeGlobals = ['Buffer', 'process', 'require', 'setImmediate', '__dirname', '__filename', 'global'];

/** What in a source text a browser does not have. */
function nodeOnly(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
  const found: string[] = [];
  for (const match of code.matchAll(/(?:from\s*|import\s*\(?\s*)['"]([^'"]+)['"]/g)) {
    if (!/^\.\.?\//.test(match[1] as string)) found.push(match[1] as string);
  }
  const withoutStrings = code.replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");
  for (const name of nodeGlobals) {
    if (new RegExp(`(?<![.\\w$])${name}\\s*[.([]`).test(withoutStrings)) found.push(name);
  }
  return found;
}

function sourceFiles(): string[] {
  return readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/\.(test|bench)\.ts$/.test(path),
  );
}

test('no source file imports anything but its siblings or uses a global that browsers lack', () => {
  const files = sourceFiles();
  expect(files).toContain(join('json', 'reader.ts'));
  for (const file of files)
    expect([file, nodeOnly(readFileSync(join(sourceFolder, file), 'utf8'))]).toEqual([file, []]);
});

test('the scan finds imports and globals of Node, and nothing in comments, strings and property names', () => {
  expect(nodeOnly("import { a } from 'node:fs';")).toEqual(['node:fs']);
  expect(nodeOnly("import 'ws';\nexport * from './x.ts';")).toEqual(['ws']);
  expect(nodeOnly("const fs = await import('fs');")).toEqual(['fs']);
  expect(nodeOnly('const a = Buffer.from(b); process.exit(1);')).toEqual(['Buffer', 'process']);
  expect(nodeOnly("// Buffer.from\n/* process.exit */ x.process.y; 'require(z)'")).toEqual([]);
});
