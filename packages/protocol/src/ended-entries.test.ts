/** What ended requests leave behind in the tables that held them, once the whole heap was collected. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { IdMap } from './id-map.ts';
import { RenewedMap } from './renewed-map.ts';

interface Table {
  set(id: number, value: unknown): void;
  delete(id: number): boolean;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
}

/** Bytes in the old generation after 40,000 requests that take 32 MB in all, of which so many are in flight. */
function leftBehind(table: Table, inFlight: number): number {
  let id = 0;
  const serve = (requests: number): void => {
    for (const end = id + requests; id < end; id++) {
      table.set(id, new Array(100).fill(id));
      if (id >= inFlight) table.delete(id - inFlight);
    }
  };
  serve(1000);
  collect();
  const before = oldBytes();
  serve(40_000);
  return oldBytes() - before;
}

const tables: Readonly<Record<string, () => Table>> = {
  IdMap: () => new IdMap<unknown>(),
  RenewedMap: () => new RenewedMap<number, unknown>(),
};
const leftBytesMax = 2 * 1024 * 1024;

for (const [name, make] of Object.entries(tables)) {
  test.each([1, 8, 300])(`${name}: requests that ended are collected with %i in flight`, (inFlight) => {
    expect(leftBehind(make(), inFlight)).toBeLessThan(leftBytesMax);
  });
}
