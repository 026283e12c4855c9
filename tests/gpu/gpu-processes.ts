/** Processes on GPUs according to the system and the driver, to compare with what a server reports. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';

/** Whether a process has a GPU open; the control device alone, `/dev/nvidiactl`, is none. */
export function hasGpuOpen(pid: number): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((descriptor) => {
    try {
      return /^\/dev\/nvidia\d+$/.test(readlinkSync(`/proc/${pid}/fd/${descriptor}`));
    } catch {
      return false;
    }
  });
}

/** As the driver names them, with its own version. */
export function gpuNames(): readonly string[] {
  return smi('--query-gpu=name,driver_version').map(([name, driver]) => `${name}, driver ${driver}`);
}

/** Of all GPUs together, whoever has it. */
export function gpuMebibytesUsed(): number {
  return smi('--query-gpu=memory.used').reduce((sum, [used]) => sum + Number(used), 0);
}

function smi(query: string): readonly (readonly string[])[] {
  const text = execFileSync('nvidia-smi', [query, '--format=csv,noheader,nounits'], { encoding: 'utf8' });
  return text
    .trim()
    .split('\n')
    .map((line) => line.split(', '));
}
