/** A process that opens a store and stands still in the middle of a write, to be killed by a test: `node stop-in-write.js FOLDER`. */
import { writeSync } from 'node:fs';
import { openLmdbTable } from '../lmdb/lmdb-store.ts';

const table = await openLmdbTable({ path: process.argv[2] as string });
await table.write(() => {
  writeSync(1, 'writing\n');
  process.kill(process.pid, 'SIGSTOP');
});
