import type { ServerProcess } from './server-process.ts';

/**
 * Stops the newest worker process of the group where it is: what it holds stays with it for as long as a test needs,
 * however fast or busy the machine is. The function returned lets it go on.
 */
export function holdWorker(server: ServerProcess, group: string): () => void {
  const pid = server.workerPids(group).at(-1);
  if (pid === undefined) throw new Error(`no worker of ${group} has been ready`);
  process.kill(pid, 'SIGSTOP');
  return () => void process.kill(pid, 'SIGCONT');
}
