import type { ServerProcess } from './server-process.ts';

/**
 * Stops the newest worker process of the group (SIGSTOP), so that it keeps its batches for as long as a test needs,
 * however fast or busy the machine is. The returned function resumes it.
 */
export function holdWorker(server: ServerProcess, group: string): () => void {
  const pid = server.workerPids(group).at(-1);
  if (pid === undefined) throw new Error(`no worker of ${group} has been ready`);
  process.kill(pid, 'SIGSTOP');
  return () => void process.kill(pid, 'SIGCONT');
}
