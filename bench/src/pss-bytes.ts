/** Memory of a process, pages that it shares with others counted in proportion (PSS). Linux only. */
import { readFileSync } from 'node:fs';

/** `Pss_Anon`: without pages of files, whose share changes when other processes begin or end. */
export function pssBytesOf(pid: number, part: 'Pss' | 'Pss_Anon' = 'Pss'): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(new RegExp(`^${part}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) * 1024;
}
