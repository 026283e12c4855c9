/** Runs the command without using the process around it, and returns what it wrote. */
import { type CommandEnvironment, runCommand } from '../cli/run-command.ts';

export interface Written {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Given = Partial<CommandEnvironment> & Pick<CommandEnvironment, 'args' | 'cwd'>;

/** Parts that a test does not pass are empty, do nothing, or are a clock that stands still. */
export async function runArguments(given: Given): Promise<Written> {
  const stdout: string[] = [];
  const stderr: string[] = [];
  const code = await runCommand({
    environment: {},
    version: '0.1.0',
    stdin: (async function* () {})(),
    stdout: writerTo(stdout),
    stderr: writerTo(stderr),
    signals: { on: () => undefined, off: () => undefined },
    hasTerminal: () => false,
    watchParent: () => () => {},
    startServer: () => Promise.reject(new Error('not here')),
    loadModels: () => Promise.reject(new Error('not here')),
    fetch,
    delay: () => Promise.resolve(),
    now: () => 0,
    exitNow: () => {},
    ...given,
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

function writerTo(texts: string[]): CommandEnvironment['stdout'] {
  return {
    write: (text, onWritten) => {
      texts.push(text);
      onWritten?.();
    },
  };
}
