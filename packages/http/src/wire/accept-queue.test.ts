import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { serveHttp } from './serve.ts';

const connections = 1000;

/** Connects that often and ends when all connections are made. */
const program = `
import { connect } from 'node:net';
let made = 0;
for (let index = 0; index < ${connections}; index++) {
  connect(Number(process.argv[1]), '127.0.0.1', () => { if (++made === ${connections}) process.exit(0); });
}`;

function systemLimit(): number {
  return process.platform === 'linux' ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : 0;
}

test.runIf(systemLimit() >= connections)('a busy server lets many connections wait', { timeout: 30_000 }, async () => {
  const server = await serveHttp(() => Promise.reject(new Error('nothing is asked')));
  // Nothing is accepted while this process waits for the program.
  const options = { timeout: 20_000, encoding: 'utf8' } as const;
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', program, `${server.port}`], options);
  expect(result).toMatchObject({ status: 0, stderr: '' });
  await server.close();
});
