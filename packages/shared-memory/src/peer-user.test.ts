import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takePeerUser } from './peer-user.ts';

test('both ends of a Unix socket know the user at the other end, and nobody is known of a closed one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-peer-'));
  const path = join(folder, 'socket');
  const accepted = new Promise<Socket>((resolve) => {
    const server = createServer((socket) => {
      resolve(socket);
      server.close();
    }).listen(path);
  });
  const socket = connect(path);
  const other = await accepted;
  expect(takePeerUser(other)).toBe(process.getuid?.());
  expect(takePeerUser(socket)).toBe(process.getuid?.());
  socket.destroy();
  expect(takePeerUser(socket)).toBeUndefined();
  other.destroy();
  rmSync(folder, { recursive: true });
});
