import { expect, test } from 'vitest';
import { openWriteHold } from './hold-writes.ts';

// That a server does not write while its journal is held is checked by tests/end-to-end/drill.test.ts.
test('a folder without a journal is refused by name', async () => {
  await expect(openWriteHold('/nowhere/journal')).rejects.toThrow(
    'there is no journal in /nowhere/journal: data.mdb is missing',
  );
});
