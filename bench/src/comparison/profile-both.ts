/** Runs one instance of each server under `--cpu-prof` and reports the functions whose self time differs most. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Contestant, startContestants, stopContestants } from '../contestant.ts';
import type { PreparedCell } from './cells.ts';
import type { Side, SlicePlan } from './measure-instance.ts';
import { type CpuProfile, functionDifferences, type ProfiledServer } from './profile-diff.ts';
import { SliceLoadProcess } from './slice-load-process.ts';

const sides: readonly [Side, Side] = ['before', 'after'];
const linesMax = 25;

/** The router's profiles go to `FOLDER/LOAD/before` and `…/after`; workers are processes of their own and are not profiled. */
export async function profileBoth(
  contestants: Readonly<Record<Side, Contestant>>,
  checkouts: Readonly<Record<Side, string>>,
  name: string,
  cell: PreparedCell,
  plan: SlicePlan,
  folder: string,
): Promise<string> {
  const folders = { before: join(folder, name, 'before'), after: join(folder, name, 'after') };
  for (const side of sides) {
    rmSync(folders[side], { recursive: true, force: true });
    mkdirSync(folders[side], { recursive: true });
  }
  const { answered, window } = await loadBoth(contestants, cell, plan, folders);
  const profiled = (side: Side): ProfiledServer => ({
    profiles: readdirSync(folders[side])
      .filter((file) => file.endsWith('.cpuprofile'))
      .map((file) => JSON.parse(readFileSync(join(folders[side], file), 'utf8')) as CpuProfile),
    window,
    answered: answered[side],
    checkoutUrl: pathToFileURL(checkouts[side]).href,
  });
  const lines = functionDifferences(profiled('before'), profiled('after'))
    .slice(0, linesMax)
    .map(({ name, before, after }) => {
      const figures = [after - before, before, after].map((micros) => micros.toFixed(2).padStart(8));
      return `${figures.join(' ')}  ${name}`;
    });
  return [`${name}: self time in µs a request (difference, before, after) by function`, ...lines].join('\n');
}

interface BothLoads {
  readonly answered: Readonly<Record<Side, number>>;
  readonly window: ProfiledServer['window'];
}

async function loadBoth(
  contestants: Readonly<Record<Side, Contestant>>,
  cell: PreparedCell,
  plan: SlicePlan,
  folders: Readonly<Record<Side, string>>,
): Promise<BothLoads> {
  const running = await startContestants(
    sides.map((side) => {
      const { command, ...contestant } = contestants[side];
      return { ...contestant, command: ['--cpu-prof', `--cpu-prof-dir=${folders[side]}`, ...command] };
    }),
  );
  const load = new SliceLoadProcess(cell.loadArguments);
  try {
    const [before, after] = running.map(({ port }) => port) as [number, number];
    for (const port of [before, after]) await load.run(port, plan.warmupMs);
    const begin = monotonicMicros();
    const answered = { before: 0, after: 0 };
    for (let turn = 0; turn < plan.pairs; turn++) {
      answered.before += (await load.run(before, plan.sliceMs)).answered;
      answered.after += (await load.run(after, plan.sliceMs)).answered;
    }
    return { answered, window: [begin, monotonicMicros()] };
  } finally {
    await load.stop();
    await stopContestants(running);
  }
}

function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
