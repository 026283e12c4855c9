import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Leaves the socket of a killed server: the file exists, and nobody listens. */
export async function leaveSocketBehind(path: string): Promise<void> {
  const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('listening'))`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
}
