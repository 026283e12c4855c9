import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commands, flagsOf, shells, subcommandsOf } from './command-table.ts';
import { completionScript } from './completion.ts';

function bash(script: string): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '--noprofile'], { input: script, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

/** What bash offers for the last of these arguments. */
function offers(...args: string[]): string[] {
  const list = args.map((arg) => `'${arg}'`).join(' ');
  const call = `COMP_WORDS=(${list}); COMP_CWORD=${args.length - 1}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, output } = bash(`${completionScript('bash')}\n${call}\n`);
  expect(code, output).toBe(0);
  return output.split('\n').filter((line) => line !== '');
}

test('the script for bash has no syntax error', () => {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: completionScript('bash'), encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

test('bash offers commands, flags, choices and shells', () => {
  expect(offers('millrace', '')).toEqual(expect.arrayContaining(commands.map((command) => command.name)));
  expect(offers('millrace', 'se')).toEqual(['serve']);
  expect(offers('millrace', 'serve', '--log-')).toEqual(['--log-level', '--log-format', '--log-requests']);
  expect(offers('millrace', 'serve', '--no-sh')).toEqual(['--no-share-workers', '--no-shared-memory']);
  expect(offers('millrace', 'serve', '--lane', '')).toEqual(['local', 'inline']);
  expect(offers('millrace', 'serve', '--http-port', '')).toEqual([]);
  expect(offers('millrace', 'completion', '')).toEqual([...shells]);
  expect(offers('millrace', 'infer', '--bi')).toEqual(['--binary']);
  expect(offers('millrace', 'serve', '/us')).toContain('/usr');
  expect(offers('millrace', 'models', 'un')).toEqual(['unload', 'unlabel', 'unsplit', 'unshadow', 'unpin']);
  expect(offers('millrace', 'models', '/us')).toContain('/usr');
  expect(offers('millrace', 'models', '--js')).toEqual(['--json']);
  expect(offers('millrace', 'models', 'queues', '--w')).toEqual(['--watch']);
  expect(offers('millrace', 'models', 'scan', '/us')).toContain('/usr');
  expect(offers('millrace', 'models', '/tmp', '/us')).toContain('/usr');
  expect(offers('millrace', 'models', 'load', '--url', '')).toEqual([]);
});

test.each(shells)('the script for %s names every command and every flag', (shell) => {
  const script = completionScript(shell);
  for (const command of commands.flatMap((one) => [one, ...subcommandsOf(one).values()])) {
    expect(script).toContain(command.name.split(' ').at(-1));
    for (const { flag } of flagsOf(command)) expect(script).toContain(shell === 'fish' ? `-l ${flag}` : `--${flag}`);
  }
});

test('quotes and brackets in descriptions do not end a text of the zsh or fish script early', () => {
  for (const shell of ['zsh', 'fish'] as const) {
    const lines = completionScript(shell).split('\n');
    const odd = lines.filter((line) => (line.replaceAll("\\'", '').match(/'/g)?.length ?? 0) % 2 === 1);
    expect(odd).toEqual([]);
  }
});
