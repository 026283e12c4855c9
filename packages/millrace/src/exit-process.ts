/** 128 plus the number of SIGHUP, as in cli/exit-codes.ts. */
const hungUp = 129;

/** Node.js aborts at an ordinary exit when its terminal is gone; the signal itself ends the process without that. */
export function exitProcess(code: number): void {
  if (code !== hungUp) process.exit(code);
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}
