/** The program of a router that has a supervisor. */
import { runInProcess } from './run-in-process.ts';
import { openSupervision } from './supervisor/open-supervision.ts';

// Whoever kills a supervisor wants the server to end, now: nobody is left to pass a signal on, or to hold the ports. Where
// the kernel does not end a process with its parent, the channel tells.
const supervision = await openSupervision(process, () => process.exit(1));

await runInProcess({
  args: process.argv.slice(2),
  environment: process.env,
  cwd: process.cwd(),
  supervision,
  // The supervisor does.
  watchParent: () => () => {},
});
