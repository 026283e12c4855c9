/** Memory of a process, pages that it shares with others counted in proportion (PSS). Linux only. */
import { readFileSync } from 'node:fs';

export function pssBytesOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
}
