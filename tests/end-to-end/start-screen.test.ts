import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { repositoryRoot } from '../support/repository-root.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
/** Gives its arguments a terminal of their own, passes keys on, and ends as they end. */
const inTerminal = `
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))`;

function mustHave(command: string): void {
  const { error } = spawnSync(command, ['--version']);
  if (error !== undefined) throw new Error(`this test needs ${command} on the PATH: ${error.message}`);
}

// Several processes are started, on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

test('the command on the screen of npm start, pasted into a shell, is answered; Ctrl-C then ends the server', async () => {
  mustHave('python3');
  mustHave('curl');
  // Of the bundled models the one that the screen chooses, and a smaller model beside it.
  const models = new ModelRepository();
  for (const path of ['models/sentiment', 'models/sentiment_tensors', 'tests/models/add_sub']) {
    models.copy(join(repositoryRoot, path));
  }
  const serve = [process.execPath, millrace, 'serve', models.path];
  const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
  const child = spawn('python3', ['-c', inTerminal, ...serve, ...ports], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  try {
    let screen = '';
    child.stdout.on('data', (chunk: Buffer) => {
      screen += chunk.toString();
    });
    const lines = () => stripVTControlCharacters(screen).split(/\r?\n/);
    await eventually(
      'the screen says how to stop',
      () => lines().some((line) => line.includes('Ctrl-C stops')),
      150_000,
    );
    const command = lines()
      .map((line) => line.trim())
      .find((line) => line.startsWith('curl '));
    expect(command).toBeDefined();
    const { status, stdout } = spawnSync('sh', ['-c', command as string], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      model_name: 'sentiment',
      outputs: [
        { name: 'label', data: ['positive'] },
        { name: 'probability', data: [expect.any(Number)] },
      ],
    });
    child.stdin.write('\x03');
    expect((await closed)[0]).toBe(0);
  } finally {
    if (child.exitCode === null) child.kill('SIGKILL');
    models.remove();
  }
});
