import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { analyseRowsOfFile } from './analyse-rows.ts';

/** Graphs that mix rows and their harmless twins: tests/oracle/corpus/README.md says how they are made and verified. */
interface Trap {
  readonly name: string;
  readonly trap: number;
  readonly isIndependent: boolean;
}

const folder = new URL('../../../tests/oracle/corpus/traps/', import.meta.url);
const traps: readonly Trap[] = JSON.parse(readFileSync(new URL('traps.json', folder), 'utf8'));

/** Harmless graphs that the analysis does not prove, each with the reason why it need not. */
const unprovenTwins: ReadonlyMap<string, string> = new Map([
  ['scan-8-first-axis-is-the-batch', 'Scan before opset 9 has another form, which nobody exports any more'],
  ['fold-with-rows-inside-and-back', 'rows that are not outermost in a folded axis are not followed'],
  ['maxpool-and-maxunpool', 'positions counted over all rows are used again as such'],
  ['nonzero-of-a-constant', 'constants are not computed, only their shapes are'],
  ['gathernd-own-row-by-range', 'numbers of rows are not followed to where they pick their own row'],
  ['if-squeezes-one-column', 'the branches differ in the number of axes, and a free size decides between them'],
  ['one-symbol-twice-kept', 'the name of the batch axis on another axis says that both grow'],
  ['function-first-output-only', 'a function is followed as a whole, with what its caller does not use'],
]);

const verdictOf = ({ name }: Trap) => analyseRowsOfFile(fileURLToPath(new URL(`${name}.onnx`, folder)));

describe('the row analysis of the trap corpus', () => {
  test.each(traps.filter(({ isIndependent }) => !isIndependent))(
    'trap $trap: $name is not proven independent',
    async (trap) => {
      expect(await verdictOf(trap)).not.toMatchObject({ kind: 'independent' });
    },
  );

  test.each(traps.filter(({ isIndependent, name }) => isIndependent && !unprovenTwins.has(name)))(
    'trap $trap: the harmless $name is proven independent',
    async (trap) => {
      expect(await verdictOf(trap)).toEqual({ kind: 'independent' });
    },
  );

  test.each(traps.filter(({ name }) => unprovenTwins.has(name)))(
    'trap $trap: the harmless $name is still listed as unproven',
    async (trap) => {
      expect(await verdictOf(trap)).not.toMatchObject({ kind: 'independent' });
    },
  );

  test('every trap has a harmful and a harmless graph', () => {
    for (let number = 1; number <= 11; number += 1) {
      const ofNumber = traps.filter(({ trap }) => trap === number);
      expect(ofNumber.some(({ isIndependent }) => isIndependent)).toBe(true);
      expect(ofNumber.some(({ isIndependent }) => !isIndependent)).toBe(true);
    }
  });
});
