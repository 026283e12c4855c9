/** Keeps the server that owns a folder from writing to it, as a disk that hangs would: for failure drills. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../store-error.ts';

export interface WriteHold {
  /** Nobody writes from now on; waits for the transaction that is under way, if there is one. */
  hold(): void;
  release(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Gets ready to take the write lock of lmdb, which writers of all processes share, without ever writing. The lock is also
 * released when this process ends, however it does.
 */
export async function openWriteHold(folder: string): Promise<WriteHold> {
  if (!existsSync(join(folder, 'data.mdb'))) {
    throw new StoreError('store-unusable', `there is no journal in ${folder}: data.mdb is missing`);
  }
  const { ABORT, open } = await import('lmdb');
  const database = open<Uint8Array, Uint8Array>(folder, { noSubdir: false, encoding: 'binary', keyEncoding: 'binary' });
  let held: unknown;
  let end: () => void = () => {};
  return {
    hold: () => {
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      held = database.transactionSync(() => ended.then(() => ABORT));
    },
    release: async () => {
      end();
      await held;
    },
    close: async () => {
      end();
      await held;
      await database.close();
    },
  };
}
