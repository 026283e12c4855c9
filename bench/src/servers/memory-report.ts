/** Lets the bench ask a server for its memory: on SIGUSR2 it collects garbage and prints one line. */
export function reportMemoryOnSignal(): void {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (collect === undefined) return;
  process.on('SIGUSR2', () => {
    // Twice, with a turn of the loop between: what the first frees may hold more until its finalizers have run.
    collect();
    setImmediate(() => {
      collect();
      const { heapUsed, external, rss } = process.memoryUsage();
      process.stdout.write(`memory ${JSON.stringify({ heapUsed, external, rss })}\n`);
    });
  });
}
