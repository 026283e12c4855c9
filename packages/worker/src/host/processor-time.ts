/** Processor time of this process so far, all threads together. */
export function processorMsOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
