import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { analyseRowsOfFile } from './analyse-rows.ts';

/**
 * Graphs made to mislead the analysis: each mixes rows, or would with other numbers of rows, by a corner of ONNX, of protobuf or of integer
 * arithmetic that an earlier version took for another. The names say which.
 */
const folder = new URL('../../../tests/oracle/corpus/hostile/', import.meta.url);
const heavy = new URL('heavy/', folder);
const graphsIn = (folder: URL): string[] => readdirSync(folder).filter((name) => name.endsWith('.onnx'));

describe('a hostile graph', () => {
  test.each(graphsIn(folder))('%s is not proven independent', async (name) => {
    expect(await analyseRowsOfFile(fileURLToPath(new URL(name, folder)))).not.toMatchObject({ kind: 'independent' });
  });

  // A list of a billion elements would end the process here.
  test.each(graphsIn(heavy))('%s is analysed without lists as long as it says', async (name) => {
    expect(['independent', 'unknown']).toContain((await analyseRowsOfFile(fileURLToPath(new URL(name, heavy)))).kind);
  });
});
