/** Finds the position of a syntax error in JavaScript: Node reports it only when the error ends the process. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type * as amaro from 'amaro';

/** The most files that are parsed; a pipeline has a few. */
const filesMax = 100;

/** `more.js:3`, for the first file in the folder, or below it, with a syntax error. */
export function takeSyntaxErrorPosition(folder: string): string | undefined {
  const { transformSync } = createRequire(import.meta.url)('amaro') as typeof amaro;
  for (const path of scriptsIn(folder).slice(0, filesMax)) {
    try {
      transformSync(readFileSync(path, 'utf8'), { mode: 'strip-only' });
    } catch (error) {
      const startLine = (error as { startLine?: number } | undefined)?.startLine;
      if (startLine !== undefined) return `${basename(path)}:${startLine}`;
    }
  }
  return undefined;
}

function scriptsIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.m?js$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}
