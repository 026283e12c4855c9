/** What a server and its child processes do to the system, by strace; prints `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { repositoryRoot } from '../support/repository-root.ts';
import { type ProcessKind, processKindOf, readTrace, type TracedProcess, traceOptions } from './read-trace.ts';
import { childSockets, type Ground, lookups, opensOutside, type TraceViolation, writesOutside } from './rules.ts';
import { TracedServer } from './traced-server.ts';
import { sendTraffic } from './traffic.ts';

const shownMax = 20;
let passed = 0;
let failed = 0;

function expect(name: string, isRight: boolean, details: readonly string[] = []): void {
  if (isRight) passed += 1;
  else failed += 1;
  console.log(`${isRight ? 'ok' : 'FAILED'}: ${name}`);
  if (!isRight) for (const line of details.slice(0, shownMax)) console.log(`    ${line}`);
}

function linesOf(found: readonly TraceViolation[]): readonly string[] {
  return found.map(({ process: { pid, args }, event }) => `${pid} ${args.slice(1, 2).join()} ${event.text}`);
}

function expectNone(name: string, found: readonly TraceViolation[]): void {
  expect(name, found.length === 0, linesOf(found));
}

function expectQuiet(title: string, processes: readonly TracedProcess[], ground: Ground): void {
  expectNone(`${title}: no DNS lookup and no connection is made`, lookups(processes, ground));
  expectNone(`${title}: child processes make no socket to the network`, childSockets(processes));
  expectNone(`${title}: no file outside is written at any time`, writesOutside(processes, ground));
}

/** A trace without all processes would find no violation. */
function expectSeen(
  title: string,
  processes: readonly TracedProcess[],
  kinds: Partial<Record<ProcessKind, number>>,
): void {
  for (const [kind, least] of Object.entries(kinds)) {
    const count = processes.filter((process) => processKindOf(process) === kind && process.events.length > 10).length;
    expect(`${title}: at least ${least} of kind ${kind} are traced`, count >= least, [`${count} are`]);
  }
}

async function serverWith(
  title: string,
  args: readonly string[],
  kinds: Partial<Record<ProcessKind, number>>,
): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'millrace-strace-models-'));
  try {
    // A worker that runs as another user reads them.
    chmodSync(work, 0o755);
    const models = join(work, 'models');
    const store = join(work, 'store');
    mkdirSync(store, { mode: 0o700 });
    for (const path of ['tests/models/mlp', 'tests/models/add_sub', 'models/digits', 'models/digits_tensors']) {
      cpSync(join(repositoryRoot, path), join(models, basename(path)), { recursive: true });
    }
    const control = ['--model-control-mode', 'explicit', '--load-model', 'mlp,add_sub'];
    const traced = await TracedServer.start([models, '--store-path', store, ...control, ...args], [models, store]);
    try {
      await sendTraffic(traced.server, !args.includes('inline'));
      expect(`${title}: traffic is answered`, true);
    } catch (error) {
      expect(`${title}: traffic is answered`, false, [String(error)]);
    }
    const { processes, ground } = await traced.stop();
    expectSeen(title, processes, kinds);
    expectQuiet(title, processes, ground);
    expectNone(`${title}: no file outside is opened after ready`, opensOutside(processes, ground));
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** A program, traced from its start to its end. */
function traceOf(args: readonly string[], use: (processes: readonly TracedProcess[], ground: Ground) => void): void {
  const work = mkdtempSync(join(tmpdir(), 'millrace-strace-'));
  try {
    for (const name of ['trace', 'temporary']) mkdirSync(join(work, name));
    const { PATH, HOME } = process.env;
    const command = [...traceOptions, '-o', join(work, 'trace', 'of'), process.execPath, ...args];
    const { status, stderr } = spawnSync('strace', command, {
      encoding: 'utf8',
      env: { PATH, HOME, TMPDIR: join(work, 'temporary') },
    });
    expect(`${args[0]} ${args[1]}: the program ends well`, status === 0, stderr.split('\n'));
    const folders = [join(work, 'temporary'), join(repositoryRoot, 'tests/models')];
    use(readTrace(join(work, 'trace')), { folders, readyAt: Number.POSITIVE_INFINITY, workersReadyAt: new Map() });
  } finally {
    rmSync(work, { recursive: true });
  }
}

const embedded = join(repositoryRoot, 'tests/dist/strace/embedded.js');
await serverWith('worker processes', [], { router: 1, worker: 6, describe: 1, analyst: 1 });
await serverWith('inline lane', ['--lane', 'inline'], { router: 1, worker: 1, describe: 1, analyst: 1 });
if (process.geteuid?.() === 0) {
  await serverWith('another user', ['--worker-user', 'nobody'], { router: 1, worker: 6, describe: 1, analyst: 1 });
}
traceOf([embedded, 'main'], (processes, ground) => expectQuiet('createEngine, inline lane', processes, ground));
traceOf([embedded, 'thread'], (processes, ground) => expectQuiet('createEngine in a thread', processes, ground));
// The rules find violations: the same engine with its telemetry.
traceOf([embedded, 'telemetry'], (processes, ground) => {
  expect('the rules see files written by the telemetry', writesOutside(processes, ground).length > 0);
});

traceOf([embedded, 'lookup'], (processes, ground) => {
  expect('the rules see a name lookup', lookups(processes, { ...ground, readyAt: 0 }).length > 0);
  expect('the rules see a file outside', opensOutside(processes, { ...ground, readyAt: 0 }).length > 0);
});

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
