/** Runs one of our bench programs on a given core and reads the JSON line it prints. */
import { fileURLToPath } from 'node:url';
import { startPinned } from './pinned-process.ts';

export function programPath(name: string): string {
  return fileURLToPath(new URL(`./${name}.js`, import.meta.url));
}

export async function runProgram(
  core: number,
  name: string,
  programArguments: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Record<string, number>> {
  const child = startPinned(core, process.execPath, [programPath(name), ...programArguments], 'ignore', environment);
  let text = '';
  child.stdout?.setEncoding('utf8');
  child.stdout?.on('data', (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${text}`);
  return JSON.parse(text) as Record<string, number>;
}
