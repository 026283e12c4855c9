/**
 * The command as it is started: `serve` becomes a supervisor with a router below it, everything else runs in this process.
 * Either is imported on demand: a supervisor should have no more code in memory than it needs.
 */
import { exitProcess } from './exit-process.ts';
import { programs } from './programs.ts';
import { superviseChoiceOf } from './supervisor/is-supervised.ts';
import { watchParent } from './watch-parent.ts';

const start = {
  args: process.argv.slice(2),
  environment: process.env,
  cwd: process.cwd(),
  platform: process.platform,
};

async function isSupervised(): Promise<boolean> {
  const choice = superviseChoiceOf(start);
  if (choice !== 'by-file') return choice;
  const { isSupervisedByConfig } = await import('./run-in-process.ts');
  return isSupervisedByConfig(start);
}

if (await isSupervised()) {
  const { runSupervisor } = await import('./supervisor/run-supervisor.ts');
  runSupervisor({
    ...start,
    program: programs.router,
    watchParent: (onGone) => watchParent(process, onGone),
    exit: exitProcess,
  });
} else {
  const { runInProcess } = await import('./run-in-process.ts');
  await runInProcess({ ...start, watchParent: (onGone) => watchParent(process, onGone) });
}
